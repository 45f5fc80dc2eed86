"""Each command of a replayed run that has an effect on the world is compared, and no other."""

from datetime import timedelta

import pytest
from pydantic import JsonValue
from temporalio.api.common.v1 import Payload
from temporalio.bridge.proto.workflow_commands import WorkflowCommand

from coterie.replay.effects import effect_of
from coterie.storage.wire import data_converter


def payload(value: JsonValue) -> Payload:
    return data_converter.payload_converter.to_payloads([value])[0]


def command(variant: str) -> WorkflowCommand:
    made = WorkflowCommand()
    made.user_metadata.summary.CopyFrom(payload("plan/draft"))
    match variant:
        case "call":
            it = made.schedule_activity
            it.activity_id, it.activity_type, it.task_queue = "7", "run_agent", "other"
            it.arguments.append(payload({"input": "rain"}))
            it.start_to_close_timeout.FromTimedelta(timedelta(seconds=30))
        case "timer":
            made.start_timer.seq = 3
            made.start_timer.start_to_fire_timeout.FromTimedelta(timedelta(minutes=1))
        case "answer":
            made.update_response.protocol_instance_id = "u1"
            made.update_response.completed.CopyFrom(payload("approved"))
        case "accepted":
            made.update_response.protocol_instance_id = "u1"
            made.update_response.accepted.SetInParent()
        case "completed":
            made.complete_workflow_execution.result.CopyFrom(payload({"output": 1}))
        case "failed":
            failure = made.fail_workflow_execution.failure
            failure.message = "it broke"
            failure.application_failure_info.details.payloads.append(payload({"team": "plan"}))
        case "continued":
            made.continue_as_new_workflow_execution.arguments.append(payload({"state": 2}))
        case "cancelled":
            made.cancel_workflow_execution.SetInParent()
        case _:
            made.set_patch_marker.patch_id = variant
    return made


@pytest.mark.parametrize(
    ("variant", "kind", "key", "held"),
    [
        ("call", "call", "7", ["rain", "other", "30"]),
        ("timer", "timer", "3", ["60"]),
        ("answer", "answer", "u1", ["approved"]),
        ("completed", "end", "", ["completed", "output"]),
        ("failed", "end", "", ["failed", "it broke", "plan"]),
        ("continued", "end", "", ["continued as new", "state"]),
        ("cancelled", "end", "", ["cancelled"]),
    ],
)
def test_an_effect_has_all_that_was_decided_about_it(
    variant: str, kind: str, key: str, held: list[str]
) -> None:
    effect = effect_of(command(variant), "own")
    assert effect is not None
    assert effect.kind == kind
    if key:
        assert effect.key == key
    assert [part for part in held if part not in str(effect.facts)] == []


@pytest.mark.parametrize("variant", ["accepted", "a-patch"])
def test_a_command_without_an_effect_is_left_to_temporal(variant: str) -> None:
    assert effect_of(command(variant), "own") is None


def test_the_own_queue_of_a_run_is_not_part_of_its_calls() -> None:
    own, other = (effect_of(command("call"), queue) for queue in ("other", "own"))
    assert own is not None
    assert other is not None
    assert "other" not in str(own.facts)
