"""Bulk actions of every released version replay, and each outcome is that of its run."""

import json
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from coterie.storage.wire import data_converter
from coterie.workflows.bulk_action import BulkActionWorkflow
from coterie.workflows.core.bulk_messages import BulkReport
from tests.replay.bulk_history import EFFECTS, FILE, SILENT, bulk_input
from tests.support.watching.prepared_sandbox import prepared_sandbox

FILES = sorted(FILE.parent.glob("*.json"))


def history(file: Path) -> WorkflowHistory:
    return WorkflowHistory.from_json("bulk-decide-1", json.loads(file.read_text()))


def test_a_bulk_is_recorded() -> None:
    """Record it anew: python -m tests.replay.bulk_history."""
    assert FILES


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
async def test_the_history_of_a_bulk_replays_inside_the_sandbox(file: Path) -> None:
    replayer = Replayer(
        workflows=[BulkActionWorkflow],
        workflow_runner=prepared_sandbox(everything=True),
        data_converter=data_converter,
        build_id="test",
    )
    await replayer.replay_workflow(history(file))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_bulk_has_one_call_and_one_outcome_for_each_request_in_order(file: Path) -> None:
    events = history(file).events
    begun = [
        event.activity_task_scheduled_event_attributes.activity_id
        for event in events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
    ]
    assert sorted(begun) == [f"{number:04}" for number in range(len(bulk_input().items))]
    [payload] = events[-1].workflow_execution_completed_event_attributes.result.payloads
    report = BulkReport.model_validate_json(payload.data)
    expected = [EFFECTS.get(number, "done") for number in range(report.total)]
    expected[SILENT] = "unanswered"
    assert [outcome.effect for outcome in report.outcomes] == expected
    items = bulk_input().items
    assert [one.run for one in report.outcomes] == [item.run for item in items]
    assert [one.request for one in report.outcomes] == [
        item.decision and item.decision.id for item in items
    ]
