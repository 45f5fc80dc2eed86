"""Who decides, how many, and what happens while nobody does."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from coterie.workflows.core.messages import DecideInput
from tests.support.engine import engine, path_of, trail
from tests.support.runs import Handle, asked, decide, failure, refused

ASKING = """
orchestration:
  entry_team: review
  groups: {leads: [cleo, dan]}
  teams:
    review:
      tasks:
        - name: sign
          type: approval
          prompt: "Ship {{ context.version }}?"
          show: {notes: "{{ context.notes }}", pages: 3}
TERMS
      routing:
        rules:
          - condition: {task: sign, status: success}
            next_team: NEXT
            context_updates: {signed: "{{ tasks.sign.data }}"}
    late:
      tasks: [{name: say, type: set, values: {why: "{{ routing.reason }}"}}]
      routing:
        rules: [{condition: all_success, next_team: null, context_updates: {why: "{{ why }}"}}]
"""
CONTEXT: Json = {"version": "1.2", "notes": ["a", "b"]}


def document(next_team: str = "null", **terms: str) -> str:
    lines = "\n".join(f"          {key}: {value}" for key, value in terms.items())
    return ASKING.replace("TERMS", lines).replace("NEXT", next_team)


async def test_a_quorum_needs_different_people_of_a_group(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(
            document(approvers="[ann, leads]", quorum="2"), CONTEXT
        )
        request = await asked(handle)
        assert request["approvers"] == ["ann", "cleo", "dan"]
        assert (await decide(handle, request["id"], by="cleo"))["verdict"] == "counted"
        again = {"id": request["id"], "decision": "approve", "by": "cleo"}
        assert "cleo has already approved 'review/sign#1'; 1 of 2 people have" in await refused(
            handle, again
        )
        assert (await asked(handle))["approved_by"] == ["cleo"]
        taken = await decide(handle, request["id"], by="ann")
        assert (taken["verdict"], taken["by"]) == ("approved", "cleo, ann")
        assert (await handle.result())["context"]["signed"]["by"] == "cleo, ann"


async def test_one_rejection_is_enough(env: WorkflowEnvironment, tmp_path: Path) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(
            document(approvers="[ann, ben, cleo]", quorum="3"), CONTEXT
        )
        request = await asked(handle)
        await decide(handle, request["id"], by="ann")
        await decide(handle, request["id"], "reject", by="ben")
        assert "ben rejected it" in (await failure(handle)).message


async def test_silence_reminds_escalates_twice_and_decides_over_nine_days(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    text = document(
        approvers="[ann]",
        deadline="9d",
        remind_every="4d",
        on_timeout="approve",
        escalate="[{after: 2d, to: [ben]}, {after: 5d, to: [leads]}]",
    )
    async with engine(env, tmp_path, []) as running:
        began = await env.get_current_time()
        handle: Handle = await running.start(text, CONTEXT)
        result = await handle.result()
        assert result["context"]["signed"]["by"] == "deadline"
        found = [entry for entry in await trail(handle) if entry.kind == "approval"]
        assert [entry.status for entry in found] == [
            "escalated",
            "reminded",
            "escalated",
            "reminded",
            "approved",
        ]
        assert "also goes to cleo, dan" in found[2].because
        days = [_days(began.isoformat(), entry.at) for entry in found]
        assert days == [2, 4, 5, 8, 9]


async def test_a_pause_of_three_days_moves_all_of_it_by_three_days(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    text = document(
        approvers="[ann]", deadline="9d", remind_every="4d", escalate="[{after: 5d, to: [ben]}]"
    )
    async with engine(env, tmp_path, []) as running:
        began = await env.get_current_time()
        handle: Handle = await running.start(text, CONTEXT)
        request = await asked(handle)
        await env.sleep(timedelta(days=1))
        await handle.signal("pause", {"by": "ann", "why": "holidays"})
        await env.sleep(timedelta(days=3))
        assert (await asked(handle))["id"] == request["id"]
        await handle.signal("resume", {"by": "ann"})
        await failure(handle)
        found = [entry for entry in await trail(handle) if entry.kind == "approval"]
        days = [(entry.status, _days(began.isoformat(), entry.at)) for entry in found]
        assert days == [("reminded", 7), ("escalated", 8), ("reminded", 11), ("rejected", 12)]


def _days(began: str, at: str) -> int:
    passed = datetime.fromisoformat(at) - datetime.fromisoformat(began)
    return round(passed / timedelta(days=1))


async def test_approver_from_an_escalation_may_decide(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    text = document(approvers="[ann]", escalate="[{after: 2d, to: [ben]}]")
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(text, CONTEXT)
        request = await asked(handle)
        early = {"id": request["id"], "decision": "approve", "by": "ben"}
        assert "'ben' may not decide" in await refused(handle, early)
        await env.sleep(timedelta(days=2, hours=1))
        await decide(handle, request["id"], by="ben")
        assert (await handle.result())["context"]["signed"]["by"] == "ben"


async def test_silence_may_lead_to_a_team(env: WorkflowEnvironment, tmp_path: Path) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(document(deadline="2d", on_timeout="late"), CONTEXT)
        result = await handle.result()
        assert result["context"]["why"] == "redirected"
        assert path_of(await trail(handle)) == ["review", "late"]


async def test_a_decision_on_something_else_is_refused(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(document(), CONTEXT)
        request = await asked(handle)
        other = {"id": request["id"], "decision": "approve", "by": "ann", "digest": "0" * 12}
        assert "has changed: its digest is" in await refused(handle, other)
        await handle.execute_update("decide", {**other, "digest": request["digest"]})
        await handle.result()


async def test_an_approver_may_change_what_is_shown_and_the_change_is_on_record(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(
            document(editable="true", approvers="[ann, ben]", quorum="2"), CONTEXT
        )
        request = await asked(handle)
        id = request["id"]
        await decide(handle, id, by="ann")
        changed = {
            "id": id,
            "decision": "approve",
            "by": "ben",
            "payload": {"notes": ["a"], "pages": 4},
        }
        assert (await handle.execute_update("decide", changed))["verdict"] == "counted"
        waiting = await asked(handle)
        assert waiting["approved_by"] == ["ben"], "ann has not seen the change"
        assert waiting["digest"] != request["digest"]
        blind = {"id": id, "decision": "approve", "by": "ann"}
        assert "has changed since it opened" in await refused(handle, blind)
        await handle.execute_update("decide", {**blind, "digest": waiting["digest"]})
        result = await handle.result()
        assert result["context"]["signed"]["payload"] == {"notes": ["a"], "pages": 4}
        assert result["decisions"][0]["payload"] == {"notes": ["a"], "pages": 4}


async def test_payload_equal_to_what_is_shown_approves_and_keeps_approvals(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(
            document(editable="true", approvers="[ann, ben, cleo]", quorum="3"), CONTEXT
        )
        request = await asked(handle)
        same: Json = {"pages": 3, "notes": ["a", "b"]}
        given: Json = {"id": request["id"], "decision": "approve"}
        await decide(handle, request["id"], by="ann")
        taken = await handle.execute_update("decide", {**given, "by": "ben", "payload": same})
        assert taken["verdict"] == "counted"
        waiting = await asked(handle)
        assert (waiting["approved_by"], waiting["digest"]) == (["ann", "ben"], request["digest"])
        assert "changes" not in waiting
        again = {**given, "by": "ann", "payload": same}
        assert "ann has already approved 'review/sign#1'; 2 of 3" in await refused(handle, again)
        edited = {**given, "by": "ann", "payload": {"pages": 3.5, "notes": ["a", "b"]}}
        await handle.execute_update("decide", edited)
        assert (await asked(handle))["approved_by"] == ["ann"], "nobody else has seen this"


@pytest.mark.parametrize("way", ["update", "signal"])
async def test_null_is_a_change_where_the_schema_lets_it(
    env: WorkflowEnvironment, tmp_path: Path, way: str
) -> None:
    nullable = document(editable="true", schema="{type: [object, 'null']}")
    strict = document(editable="true", schema="{type: object}")
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(nullable, CONTEXT)
        request = await asked(handle)
        asked_null = DecideInput(id=request["id"], decision="approve", by="ann", payload=None)
        if way == "update":
            await handle.execute_update("decide", asked_null)
        else:
            await handle.signal("approve", {"id": request["id"], "by": "ann", "payload": None})
        [taken] = (await handle.result())["decisions"]
        assert taken.get("payload") is None
        assert len(taken["changes"]) == 1
        other: Handle = await running.start(strict, CONTEXT)
        await asked(other)
        assert "payload" in await refused(other, asked_null)
        await decide(other, request["id"])  # without a payload: as it is shown
        assert (await other.result())["context"]["signed"]["payload"]["pages"] == 3


async def test_a_program_that_writes_null_for_what_it_leaves_out_may_decide(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(document(), CONTEXT)
        request = await asked(handle)
        given = {"id": request["id"], "decision": "approve", "by": "ann", "payload": None}
        assert (await handle.execute_update("decide", given))["verdict"] == "approved"


@pytest.mark.parametrize(
    ("editable", "payload", "decision", "message"),
    [
        ("false", {"notes": [], "pages": 1}, "approve", "lacks `editable: true`"),
        ("true", {"notes": []}, "approve", "payload has the keys notes, not notes, pages"),
        ("true", {"notes": ["a", 1], "pages": 1}, "approve", "payload.notes[1] is a number"),
        ("true", {"notes": [], "pages": "1"}, "approve", "payload.pages is a text, not a number"),
        ("true", {"notes": [], "pages": 1}, "reject", "a rejection does not change"),
    ],
)
async def test_a_change_of_another_shape_is_refused(
    env: WorkflowEnvironment,
    tmp_path: Path,
    editable: str,
    payload: Json,
    decision: str,
    message: str,
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(document(editable=editable), CONTEXT)
        request = await asked(handle)
        given = {"id": request["id"], "decision": decision, "by": "ann", "payload": payload}
        assert message in await refused(handle, given)


async def test_remembered_approval_answers_an_equal_request(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    text = (
        document("again", remember="true")
        + """
    again:
      tasks: [{name: count, type: set, values: {n: "{{ run.teams_run }}"}}]
      routing:
        rules:
          - condition: {task: count, output_field: n, operator: less_than, value: 4}
            next_team: review
          - condition: {task: count, output_field: n, operator: less_than, value: 6}
            next_team: review
            context_updates: {version: "2.0"}
          - {condition: all_success, next_team: null}
"""
    )
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(text, CONTEXT)
        await decide(handle, (await asked(handle))["id"])
        request = await asked(handle)
        assert request["id"] == "review/sign#3", "the second was like the first"
        assert request["prompt"] == "Ship 2.0?"
        await decide(handle, request["id"])
        decisions = (await handle.result())["decisions"]
        assert [one["how"] for one in decisions] == ["update", "remembered", "update"]


async def test_a_run_can_be_sent_to_another_team(env: WorkflowEnvironment, tmp_path: Path) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(document(), CONTEXT)
        request = await asked(handle)
        nowhere = {"team": "nowhere", "by": "ann"}
        assert "no team 'nowhere'; it has: late, review" in await refused(
            handle, nowhere, "redirect"
        )
        given = {"team": "late", "by": "ann", "why": "it is late"}
        assert await handle.execute_update("redirect", given) == "late"
        await decide(handle, request["id"])
        assert (await handle.result())["context"]["why"] == "redirected"
        reasons = [entry.because for entry in await trail(handle) if entry.kind == "route"]
        assert reasons[0] == "redirected to late by ann: it is late"
