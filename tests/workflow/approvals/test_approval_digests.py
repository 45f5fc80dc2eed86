"""A decision carries the digest of the payload that it decides, where it could be another one."""

from collections.abc import Mapping
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from coterie.workflows.core.messages import TeamInput
from coterie.workflows.core.requests import origin_digest, request_digest
from tests.support.engine import engine, plan_of
from tests.support.runs import Handle, asked, decide, failure, refused
from tests.support.simulation.simulated_server import Message, SimulatedServer
from tests.workflow.approvals.test_approval_terms import CONTEXT, document


async def test_a_signal_without_a_digest_does_not_approve_an_edited_payload(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    terms = {"editable": "true", "approvers": "[ann, ben]", "quorum": "2"}
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(document(**terms), CONTEXT)
        request = await asked(handle)
        given = {"id": request["id"], "by": "ben"}
        edit: Json = {**given, "decision": "approve", "payload": {"notes": [], "pages": 900}}
        await handle.execute_update("decide", edit)
        changed = await asked(handle)
        await handle.signal("approve", {"id": request["id"], "by": "ann"})
        await handle.signal("reject", {"id": request["id"], "by": "ann"})
        assert (await asked(handle))["approved_by"] == ["ben"], "neither counts"
        await handle.signal("approve", {**given, "by": "ann", "digest": changed["digest"]})
        assert (await handle.result())["context"]["signed"]["payload"]["pages"] == 900


async def test_a_deadline_does_not_approve_what_one_of_two_people_changed(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    terms = {"editable": "true", "quorum": "2", "deadline": "1d", "on_timeout": "approve"}
    text = document(approvers="[ann, ben]", **terms)
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(text, CONTEXT)
        request = await asked(handle)
        edit: Json = {"id": request["id"], "by": "ann", "decision": "approve"}
        edit["payload"] = {"notes": [], "pages": 900}
        assert (await handle.execute_update("decide", edit))["verdict"] == "counted"
        assert "NotDecided" in (await failure(handle)).message


async def test_digest_required_asks_it_of_everyone(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(document(digest="required"), CONTEXT)
        request = await asked(handle)
        assert request["digest_required"] is True
        assert len(request["digest"]) == len(sha256().hexdigest())
        given: Json = {"id": request["id"], "decision": "approve", "by": "ann"}
        assert "has `digest: required`" in await refused(handle, given)
        short = {**given, "digest": request["digest"][:12]}
        assert "has changed: its digest is" in await refused(handle, short)
        await handle.execute_update("decide", {**given, "digest": request["digest"]})
        await handle.result()


@pytest.mark.parametrize("spelling", ["  ANN ", "Ann", "ann\u2003"])
async def test_a_quorum_counts_a_person_once_however_the_name_is_typed(
    env: WorkflowEnvironment, tmp_path: Path, spelling: str
) -> None:
    terms = {"approvers": "[ann, Zoe\u0308, ANN]", "quorum": "2"}
    async with engine(env, tmp_path, []) as running:
        handle: Handle = await running.start(document(**terms), CONTEXT)
        request = await asked(handle)
        assert request["approvers"] == ["ann", "Zoe\u0308"]
        assert (await decide(handle, request["id"], by="ann"))["verdict"] == "counted"
        again = {"id": request["id"], "decision": "approve", "by": spelling}
        assert "has already approved 'review/sign#1'; 1 of 2" in await refused(handle, again)
        taken = await decide(handle, request["id"], by="zo\u00eb ")
        assert (taken["verdict"], taken["by"]) == ("approved", "ann, Zoe\u0308")


@pytest.mark.parametrize(
    "again", [{}, {"cron_schedule": "* * * * *"}], ids=["a new start", "a schedule"]
)
async def test_a_decision_does_not_fit_the_next_run_with_the_same_id(
    env: WorkflowEnvironment, tmp_path: Path, again: Mapping[str, Any]
) -> None:
    given, id = TeamInput(plan=plan_of(document()), context=CONTEXT), f"run-{uuid4()}"
    async with engine(env, tmp_path, []) as running:

        async def started() -> None:
            handle: Handle = await running.client.start_workflow(
                "TeamWorkflow", given, id=id, task_queue=running.queue, **again
            )
            running.runs.append(handle)

        await started()
        run: Handle = running.client.get_workflow_handle(id)
        await env.sleep(timedelta(minutes=2))  # a schedule starts at a full minute
        first = await asked(run)
        decision = {"id": first["id"], "decision": "approve", "by": "ann"}
        decision["digest"] = first["digest"]
        await run.execute_update("decide", decision)
        if not again:
            await run.result()
            await started()
        await env.sleep(timedelta(minutes=2))
        second = await asked(run)
        same = ("id", "prompt", "show")
        assert [second[key] for key in same] == [first[key] for key in same]
        message = await refused(run, decision)
        assert f"its digest is {second['digest']!r}, not {first['digest']!r}" in message


def test_a_digest_stays_the_same_when_the_run_continues_as_new() -> None:
    id = "review/sign#1"
    shown: Json = {"notes": ["a", "b"], "pages": 3}
    digest = request_digest(origin_digest("test", "first", id), "Ship 1.2?", shown)
    decision: Json = {"id": id, "decision": "approve", "by": "ann", "digest": digest}
    server = SimulatedServer(
        lambda _: (0.0, ValueError("nothing is called")),
        [
            Message(25, "update", "decide", {**decision, "digest": "x"}),
            Message(30, "update", "decide", decision),
        ],
        lambda task: task.part < 3 and task.in_part > 1,
    )
    lived = server.run(plan_of(document(remind_every="10s")), CONTEXT)
    assert len(lived.tasks) == 3, "the request was open in each history"
    assert f"its digest is {digest!r}" in str(lived.replies["decide 25"])
    assert not lived.failure
    assert isinstance(lived.replies["decide 30"], dict)
