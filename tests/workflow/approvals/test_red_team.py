"""A red team with every right but a key: it starts, signals, updates, resets, and decides nothing.

Who may poll the task queue, or complete activities, is the worker, and out of scope
(docs/signed-decisions.md). The same attacks succeed where decisions need no signature.
"""

import uuid
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest_asyncio
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from coterie.gateway.app import application
from coterie.gateway.identity.identity import Role
from coterie.gateway.operations.run_access import RunAccess
from coterie.inspection.verified_decisions import verify_history
from coterie.server.connection import Connection
from coterie.settings import load
from coterie.signing.key_files import write_key
from coterie.signing.signers import issue
from coterie.storage.histories import whole
from coterie.workflows.core.messages import (
    AmendInput,
    DecideInput,
    ForkInput,
    RedirectInput,
    SignedInput,
    SkipInput,
    TeamInput,
)
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.state import RunState
from coterie.workflows.handlers.start_checks import begin
from coterie.workflows.signatures.statements import Authority
from tests.support.engine import plan_of
from tests.support.gateway import by_header, client_of
from tests.support.gateway import person as verified
from tests.support.runs import asked
from tests.support.servers.temporal_server import dev_server
from tests.workflow.approvals.forgeries import FORGERIES, ID, Scene
from tests.workflow.approvals.signed_fleet import (
    HOUR,
    ROOT,
    SignedFleet,
    authority_of,
    person,
    signed,
)
from tests.workflow.test_raw_plans import refusal, replayed
from tests.workflow.test_restarted_plans import part_after, refusal_of

_PEOPLE = ", ".join(["ann", "ben", *(f"eve-{number}" for number in range(90))])
QUORUM = f"""
orchestration:
  entry_team: only
  teams:
    only:
      tasks:
        - {{name: sign, type: approval, prompt: "Pay?", show: "120 EUR", quorum: 90,
           approvers: [{_PEOPLE}]}}
        - {{name: again, type: approval, prompt: "Pay more?"}}
"""
TWICE = QUORUM.replace("quorum: 90", "quorum: 1")
APPROVE = DecideInput(id=ID, decision="approve", comment="fine")
STEERING: dict[str, SignedInput] = {
    "amend": AmendInput(updates={"paid": True}),
    "redirect": RedirectInput(team="only"),
    "skip": SkipInput(task="only/sign", by="ann"),
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server() -> AsyncGenerator[WorkflowEnvironment]:
    async with dev_server() as env:
        yield env


async def answer(handle: Any, name: str, message: object) -> str:
    """What the run says to an update: `accepted`, or why not."""
    try:
        await handle.execute_update(name, message)
    except WorkflowUpdateFailedError as error:
        cause = cast("ApplicationError", error.cause)
        return str(cause.details[0].get("problem", cause.type))
    return "accepted"


async def scene_of(fleet: SignedFleet, handle: Any) -> Scene:
    """A run that has taken one decision, which the red team has seen on the wire."""
    ann = person("ann", now=await fleet.now())
    first = await signed(fleet, handle, ann, APPROVE)
    await handle.execute_update("decide", first)
    assert first.proof is not None
    request = (await fleet.run(handle).pending())[0]
    return Scene(await authority_of(handle), request, await fleet.now(), first.proof)


async def test_a_run_takes_nothing_from_a_red_team_without_a_key(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    fleet = SignedFleet(env, tmp_path)
    async with fleet.worker():
        handle = await fleet.start(TeamInput(plan=plan_of(QUORUM)))
        await asked(handle)
        scene = await scene_of(fleet, handle)
        answers = {
            name: await answer(handle, "decide", forge(scene))
            for name, (_, forge) in FORGERIES.items()
        }
        assert answers == {name: expected for name, (expected, _) in FORGERIES.items()}
        for _, forge in FORGERIES.values():
            message = {key: part for key, part in forge(scene).items() if key != "decision"}
            await handle.signal("approve", message)
        await handle.signal("reject", {"id": ID, "by": "ann"})
        for name, message in STEERING.items():
            assert await answer(handle, name, message) == "SignatureRequired"
        await handle.signal("skip", STEERING["skip"])
        (request,) = await fleet.run(handle).pending()
        assert (request.id, request.approved_by) == (ID, ("ann",))
        ben = person("ben", now=await fleet.now())
        await handle.execute_update("decide", await signed(fleet, handle, ben, APPROVE))
        (request,) = await fleet.run(handle).pending()
        assert (request.approved_by, request.proofs) == (("ann", "ben"), ())
        whole_request = (await fleet.run(handle).request(ID)).pending
        assert whole_request is not None
        assert len(whole_request.proofs) == 2
        await handle.terminate()
    await replayed(handle, {})


async def test_the_same_attacks_succeed_without_signatures(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    fleet = SignedFleet(env, tmp_path, root=None)
    async with fleet.worker():
        handle = await fleet.start(TeamInput(plan=plan_of(QUORUM)))
        request = Pending.model_validate(await asked(handle))
        authority = Authority(root=ROOT.public, run="r", execution="e")
        now = await fleet.now()
        proof = person("ann", now=now).sign(APPROVE, authority, request, now=now).proof
        assert proof is not None
        scene = Scene(authority, request, now, proof)
        refused = {
            name: said
            for number, (name, (_, forge)) in enumerate(FORGERIES.items())
            if (said := await answer(handle, "decide", {**forge(scene), "by": f"eve-{number}"}))
            != "accepted"
        }
        assert refused == {"another digest beside the signed one": "RequestChanged"}
        assert await answer(handle, "skip", STEERING["skip"]) == "accepted"
        await handle.terminate()


async def test_a_reset_run_takes_no_decision_from_before_its_reset(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    fleet = SignedFleet(server, tmp_path)
    async with fleet.worker():
        handle = await fleet.start(TeamInput(plan=plan_of(TWICE)))
        await asked(handle)
        ann = person("ann", now=await fleet.now())
        taken = await signed(fleet, handle, ann, APPROVE)
        await handle.execute_update("decide", taken)
        again = await reset(server, handle, to=await last_task_before_decision(handle))
        assert (await asked(again))["id"] == ID, "the server applies the decision again"
        assert await answer(again, "decide", taken) == "other_execution"
        await again.execute_update("decide", await signed(fleet, again, ann, APPROVE))
        assert (await asked(again))["id"] == "only/again#1"
        await again.terminate()
    await replayed(again, {})


async def reset(server: WorkflowEnvironment, handle: Any, *, to: int) -> Any:
    """Reset a run to the end of a workflow task, and return what goes on from there."""
    await server.client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace=server.client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=handle.id),
            reason="to ask again",
            workflow_task_finish_event_id=to,
            request_id=str(uuid.uuid4()),
        )
    )
    again: Any = server.client.get_workflow_handle(handle.id)
    await part_after(again, handle.first_execution_run_id)
    return again


async def last_task_before_decision(handle: Any) -> int:
    """The event of the workflow task that opened the request."""
    completed = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    accepted = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED
    latest = 0
    async for event in handle.fetch_history_events():
        if event.event_type == accepted:
            break
        latest = event.event_id if event.event_type == completed else latest
    events = [event async for event in handle.fetch_history_events()]
    tasks = [event.event_id for event in events if event.event_type == completed]
    return max(task for task in tasks if task < latest)


async def test_a_start_does_not_choose_its_root(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    fleet = SignedFleet(server, tmp_path)
    plan, state = plan_of(TWICE), RunState(authority=None)
    begin(plan, state)
    async with fleet.worker():
        other = await fleet.start(TeamInput(plan=plan, decisions_root="another"))
        assert "under another root key" in await refusal(other)
        carried = await fleet.start(TeamInput(plan=plan, carried=state.carried()))
        assert "`carried` is for runs that continue as new" in await refusal(carried)
        first = await fleet.start(
            TeamInput(plan=plan, carried=state.carried()), cron_schedule="@every 1s"
        )
        second: Any = server.client.get_workflow_handle(first.id)
        part = await part_after(second, first.first_execution_run_id)
        ended: Any = server.client.get_workflow_handle(first.id, run_id=part)
        assert "takes only runs with signed decisions" in await refusal_of(ended)
        await second.terminate()
        right = await fleet.start(TeamInput(plan=plan, decisions_root=ROOT.public))
        await asked(right)
        await right.terminate()
        fork = ForkInput(run=right.id, at="only#1", updates={"paid": True})
        assert "it cannot change the context" in await refusal(
            await fleet.start(TeamInput(fork=fork))
        )
    await replayed(ended, {})


async def test_a_signal_that_starts_a_run_decides_nothing(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    fleet = SignedFleet(server, tmp_path)
    async with fleet.worker():
        handle = await fleet.start(
            TeamInput(plan=plan_of(TWICE)),
            start_signal="approve",
            start_signal_args=[{"id": ID, "by": "ann"}],
        )
        assert (await asked(handle))["id"] == ID
        await handle.terminate()


LATER = timedelta(hours=20)


async def test_a_decision_may_arrive_late_but_not_too_late(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    fleet = SignedFleet(env, tmp_path)
    async with fleet.worker():
        handle = await fleet.start(TeamInput(plan=plan_of(TWICE)))
        await asked(handle)
        ann = person("ann", now=await fleet.now())  # for an hour
        said = await signed(fleet, handle, ann, APPROVE)
        await env.sleep(LATER)
        late = await fleet.start(TeamInput(plan=plan_of(TWICE)))
        await asked(late)
        stale = await signed(fleet, late, person("ann", now=await fleet.now()), APPROVE)
        assert await answer(handle, "decide", said) == "accepted"
        await env.sleep(2 * LATER)
        assert await answer(late, "decide", stale) == "too_late"
        await handle.terminate()
        await late.terminate()


async def test_a_run_that_is_reset_to_its_start_takes_no_decision_from_before(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    fleet = SignedFleet(server, tmp_path)
    async with fleet.worker():
        handle = await fleet.start(TeamInput(plan=plan_of(TWICE)))
        await asked(handle)
        ann = person("ann", now=await fleet.now())
        taken = await signed(fleet, handle, ann, APPROVE)
        await handle.execute_update("decide", taken)
        again = await reset(server, handle, to=4)
        assert (await asked(again))["id"] == ID
        assert await answer(again, "decide", taken) == "other_execution"
        await again.terminate()
    await replayed(again, {})


async def test_a_gateway_signs_for_the_people_whom_it_has_verified(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    fleet, key = SignedFleet(server, tmp_path), tmp_path / "desk.key"
    two = QUORUM.replace("quorum: 90", "quorum: 2")
    write_key(key, issue(ROOT, "gateway", "desk", life=HOUR, now=await fleet.now()))
    connection = Connection(server.client, "test", None)
    async with fleet.worker():
        handle = await fleet.start(TeamInput(plan=plan_of(two)))
        digest = (await asked(handle))["digest"]
        path = f"/v1/runs/{handle.id}/decisions"
        body = {"request": ID, "decision": "approve", "digest": digest}
        unsigned = application(RunAccess(load({}, tmp_path), connection), by_header)
        signing = application(RunAccess(load({}, tmp_path), connection, key), by_header)
        answers: list[Any] = []
        for app, name in (
            (unsigned, "ann"),
            (signing, "ann"),
            (signing, "ann"),
            (signing, "ben"),
        ):
            client = client_of(app, verified(name, Role.APPROVER))
            answers.append((await client.post(path, json=body)).json())
        assert "takes only signed decisions" in str(answers[0])
        assert answers[1]["verdict"] == "counted"
        assert "ann has already approved" in str(answers[2])
        assert answers[3]["verdict"] == "approved"
        await handle.terminate()
    history = await whole(await handle.fetch_history(), server.client.data_converter)
    (act,) = (await verify_history(history, [ROOT.public])).acts
    assert [person.split(" at ")[0] for person in act.people] == ["ann by oidc", "ben by oidc"]
