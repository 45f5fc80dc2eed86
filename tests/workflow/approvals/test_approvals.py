"""Every wait for a person: who may decide, when, and what silence means."""

from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from tests.support.engine import engine, path_of, trail
from tests.support.runs import Handle, asked, decide, failure, refusal, refused

ASKING = """
orchestration:
  entry_team: review
  teams:
    review:
      tasks:
        - name: sign
          type: approval
          prompt: "Ship {{ context.version }}?"
          show: {notes: "{{ context.notes }}"}
          approvers: [ann, ben]
          deadline: 2d
          on_timeout: SILENCE
      routing:
        rules:
          - condition: {task: sign, output_field: decision, operator: equals, value: approved}
            next_team: null
            context_updates: {by: "{{ tasks.sign.data.by }}"}
        default: turned_down
    turned_down:
      tasks: [{name: say, type: set, values: {why: "{{ routing.error.message }}"}}]
      routing:
        rules: [{condition: all_success, next_team: null, context_updates: {why: "{{ why }}"}}]
"""
ACCEPTED = "workflow_execution_update_accepted_event_attributes"
CONTEXT: Json = {"version": "1.2", "notes": ["a", "b"]}


def document(on_timeout: str = "reject") -> str:
    return ASKING.replace("SILENCE", on_timeout)


async def test_a_request_shows_what_there_is_to_decide(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(document(), CONTEXT)
        request = await asked(handle)
        assert request["id"] == "review/sign#1"
        assert request["prompt"] == "Ship 1.2?"
        assert request["show"] == {"notes": ["a", "b"]}
        assert request["approvers"] == ["ann", "ben"]
        assert request["deadline"] > request["since"]
        taken = await decide(handle, request["id"], by="ben")
        assert (taken["verdict"], taken["by"], taken["how"]) == ("approved", "ben", "update")
        result = await handle.result()
        assert result["context"]["by"] == "ben"
        assert result["decisions"] == [taken]


async def test_a_rejection_is_a_failure_that_routing_takes_care_of(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(document(), CONTEXT)
        await decide(handle, (await asked(handle))["id"], "reject")
        result = await handle.result()
        assert result["context"]["why"] == "ann rejected it: because"


@pytest.mark.parametrize(
    ("payload", "code", "message"),
    [
        (
            {"id": "review/other#1", "decision": "approve", "by": "ann"},
            "UnknownRequest",
            "nothing waits under",
        ),
        (
            {"id": "review/sign#2", "decision": "approve", "by": "ann"},
            "UnknownRequest",
            "review/sign#1",
        ),
        (
            {"id": "review/sign#1", "decision": "approve", "by": "eve"},
            "NotAllowed",
            "allowed: ann, ben",
        ),
        ({"id": "review/sign#1", "decision": "approve"}, "NotAllowed", "'unknown' may not decide"),
        (
            {"id": "review/sign#1", "decision": "approve", "by": "ann", "digest": "0" * 12},
            "RequestChanged",
            "has changed: its digest is",
        ),
        (
            {"id": "review/sign#1", "decision": "approve", "by": "ann", "payload": {}},
            "BadPayload",
            "cannot be changed",
        ),
        ({"id": "review/sign#1", "decision": "maybe", "by": "ann"}, "Malformed", "decision"),
        ({"id": "x" * 501, "decision": "approve", "by": "ann"}, "Malformed", "500 characters"),
        ({"decision": "approve", "by": "ann"}, "Malformed", "the key 'id' is missing"),
        ("approve", "Malformed", "this is not a decision"),
    ],
)
async def test_a_decision_that_cannot_be_taken_is_refused_at_once_with_a_code(
    env: WorkflowEnvironment, tmp_path: Path, payload: object, code: str, message: str
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(document(), CONTEXT)
        await asked(handle)
        error = await refusal(handle, payload)
        assert error.type == code
        assert error.details[0]["code"] == code
        assert message in error.message
        [waiting] = await handle.query("pending")
        assert waiting["id"] == "review/sign#1", "a refusal changes nothing"
        events = (await handle.fetch_history()).events
        assert not [event for event in events if event.HasField(ACCEPTED)], "nor does it cost"


async def test_a_second_decision_changes_nothing(env: WorkflowEnvironment, tmp_path: Path) -> None:
    more = "        - {name: more, type: approval, prompt: Really?}\n      routing:"
    text = document().replace("      routing:", more, 1)
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(text, CONTEXT)
        await asked(handle)
        await decide(handle, "review/sign#1")
        error = await refusal(handle, {"id": "review/sign#1", "decision": "reject", "by": "ben"})
        assert error.type == "RequestClosed"
        assert "is closed: ann approved it" in error.message
        earlier = error.details[0]["decision"]
        assert (earlier["by"], earlier["verdict"]) == ("ann", "approved")
        await handle.signal("reject", {"id": "review/sign#1", "by": "ben"})
        await decide(handle, (await asked(handle))["id"])
        result = await handle.result()
        assert [decision["by"] for decision in result["decisions"]] == ["ann", "ann"]
        assert any("is closed" in e.because for e in await trail(handle) if e.kind == "refused")


async def test_signals_decide_for_those_who_can_only_signal(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(document(), CONTEXT)
        await asked(handle)
        await handle.signal("approve", {"by": "ann"})
        await handle.signal("approve", "nonsense")
        await handle.signal("approve", {"id": "review/sign#1", "by": "eve"})
        await handle.signal("approve", {"id": "review/sign#1", "by": "ann", "comment": "good"})
        result = await handle.result()
        [decision] = result["decisions"]
        assert (decision["by"], decision["comment"], decision["how"]) == ("ann", "good", "signal")
        refusals = [entry for entry in await trail(handle) if entry.kind == "refused"]
        assert [entry.status for entry in refusals] == ["Malformed", "Malformed", "NotAllowed"]
        assert "the key 'id' is missing" in refusals[0].because


@pytest.mark.parametrize(
    ("on_timeout", "path"),
    [
        ("reject", ["review", "turned_down"]),
        ("fail", ["review", "turned_down"]),
        ("approve", ["review"]),
    ],
)
async def test_silence_means_what_the_file_says(
    env: WorkflowEnvironment, tmp_path: Path, on_timeout: str, path: list[str]
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(document(on_timeout), CONTEXT)
        before = await env.get_current_time()
        await handle.result()
        assert path_of(await trail(handle)) == path
        assert await env.get_current_time() - before >= timedelta(days=2)


async def test_each_visit_asks_anew(env: WorkflowEnvironment, tmp_path: Path) -> None:
    text = """
orchestration:
  entry_team: again
  teams:
    again:
      tasks: [{name: ok, type: approval, prompt: "Once more?"}]
      routing:
        rules:
          - {condition: {task: ok, status: success}, next_team: again}
        default: null
"""
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(text)
        for visit in (1, 2):
            while (request := await asked(handle))["id"] != f"again/ok#{visit}":
                pass
            await decide(handle, request["id"])
        assert "is closed" in await refused(
            handle, {"id": "again/ok#1", "decision": "approve", "by": "ann"}
        )
        await decide(handle, (await asked(handle))["id"], "reject")
        error = await failure(handle)
        assert error.type == "TeamFailed"


PERMITTED = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas: {writer: {prompts: {user: "Write {{ input.what }}."}}}
orchestration:
  entry_team: only
  teams:
    only:
      tasks:
        - name: write
          agent_type: generic_single_shot
          persona_key: writer
          input: {what: a letter}
          requires_approval: WHEN
"""


async def test_a_person_allows_the_call_before_it_is_made(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, [{"task": "write", "answer": "Dear all"}]) as running:
        for when, decision, calls in (("true", "approve", 1), ("before", "reject", 0)):
            handle: Handle = await running.start(PERMITTED.replace("WHEN", when))
            request = await asked(handle)
            assert request["show"] == {"what": "a letter"}
            assert (await handle.query("status"))["model_calls"] == 0
            await decide(handle, request["id"], decision)
            if calls:
                assert (await handle.result())["model_calls"] == calls
            else:
                assert "ann rejected it" in (await failure(handle)).message


async def test_a_person_accepts_the_answer_after_it_is_made(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, [{"task": "write", "answer": "Dear all"}]) as running:
        handle: Handle = await running.start(PERMITTED.replace("WHEN", "after"))
        request = await asked(handle)
        assert request["show"] == {"text": "Dear all"}
        await decide(handle, request["id"])
        assert (await handle.result())["output"]["write"] == {"text": "Dear all"}
