"""A red team that starts runs, also by schedules, and sends its decisions along: none counts.

The same attacks succeed where decisions need no signature, except for a forged state, which no
worker takes.
"""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from temporalio.client import (
    Schedule,
    ScheduleActionExecutionStartWorkflow,
    ScheduleActionStartWorkflow,
    ScheduleSpec,
    WithStartWorkflowOperation,
    WorkflowUpdateFailedError,
)
from temporalio.common import WorkflowIDConflictPolicy
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from coterie.workflows.core.messages import DecideInput, TeamInput
from coterie.workflows.core.requests import Decision
from coterie.workflows.core.state import RunState
from coterie.workflows.handlers.start_checks import begin
from tests.support.engine import plan_of
from tests.support.runs import asked
from tests.support.servers.temporal_server import dev_server
from tests.workflow.approvals.signed_fleet import ROOT, SignedFleet, person, signed
from tests.workflow.test_raw_plans import refusal

ID = "only/sign#1"
PLAN = plan_of("""
orchestration:
  entry_team: only
  teams:
    only:
      tasks:
        - {name: sign, type: approval, prompt: "Pay?", show: "120 EUR", approvers: [ann, ben]}
        - {name: again, type: approval, prompt: "Pay more?"}
""")
GIVEN = TeamInput(plan=PLAN)
UNSIGNED: Json = {"id": ID, "decision": "approve", "by": "ann"}
_AT_ONCE = timedelta(seconds=20)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server() -> AsyncGenerator[WorkflowEnvironment]:
    async with dev_server() as env:
        yield env


@dataclass
class Attack:
    """What an attacker has: a client, and what it saw of a decision about another run."""

    fleet: SignedFleet
    seen: Json
    """A decision with its proof, as it was on the wire."""

    async def start(self) -> Any:
        handle = await self.fleet.start(GIVEN)
        await asked(handle)
        return handle

    async def signal_with_start(self, id: str, name: str, message: Json) -> Any:
        body = {key: value for key, value in message.items() if key != "decision"}
        return await self.fleet.start(
            GIVEN,
            id=id,
            start_signal=name,
            start_signal_args=[body],
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        )

    async def update_with_start(self, id: str, message: Json) -> Any:
        client: Any = self.fleet.env.client
        operation: WithStartWorkflowOperation[Any, Any] = WithStartWorkflowOperation(
            "TeamWorkflow",
            GIVEN,
            id=id,
            task_queue=self.fleet.fleet.queue,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        )
        with suppress(WorkflowUpdateFailedError):
            await client.execute_update_with_start_workflow(
                "decide", message, start_workflow_operation=operation, rpc_timeout=_AT_ONCE
            )
        return await operation.workflow_handle()

    async def schedule(self, given: TeamInput) -> Any:
        """Start a run by a schedule of the attacker."""
        client = self.fleet.env.client
        action = ScheduleActionStartWorkflow(
            "TeamWorkflow", given, id=f"s-{uuid.uuid4()}", task_queue=self.fleet.fleet.queue
        )
        handle = await client.create_schedule(
            f"schedule-{uuid.uuid4()}", Schedule(action, ScheduleSpec()), trigger_immediately=True
        )
        while not (actions := (await handle.describe()).info.recent_actions):  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # until the server has started it
        await handle.delete()
        started = actions[0].action
        assert isinstance(started, ScheduleActionExecutionStartWorkflow)
        return client.get_workflow_handle(started.workflow_id)


def new_id() -> str:
    return f"new-{uuid.uuid4()}"


async def signal_starts(attack: Attack) -> Any:
    return await attack.signal_with_start(new_id(), "approve", UNSIGNED)


async def signal_starts_with_a_seen_proof(attack: Attack) -> Any:
    return await attack.signal_with_start(new_id(), "approve", attack.seen)


async def signal_meets_a_run(attack: Attack) -> Any:
    handle = await attack.start()
    return await attack.signal_with_start(handle.id, "approve", UNSIGNED)


async def signal_skips_in_a_run(attack: Attack) -> Any:
    handle = await attack.start()
    skipped: Json = {"task": "only/sign", "by": "ann"}
    return await attack.signal_with_start(handle.id, "skip", skipped)


async def update_starts(attack: Attack) -> Any:
    return await attack.update_with_start(new_id(), UNSIGNED)


async def update_meets_a_run(attack: Attack) -> Any:
    handle = await attack.start()
    return await attack.update_with_start(handle.id, UNSIGNED)


async def update_meets_a_run_with_a_seen_proof(attack: Attack) -> Any:
    handle = await attack.start()
    return await attack.update_with_start(handle.id, attack.seen)


async def schedule_starts_what_a_signal_meets(attack: Attack) -> Any:
    handle = await attack.schedule(GIVEN)
    return await attack.signal_with_start(handle.id, "approve", UNSIGNED)


ATTACKS: tuple[Callable[[Attack], Awaitable[Any]], ...] = (
    signal_starts,
    signal_starts_with_a_seen_proof,
    signal_meets_a_run,
    signal_skips_in_a_run,
    update_starts,
    update_meets_a_run,
    update_meets_a_run_with_a_seen_proof,
    schedule_starts_what_a_signal_meets,
)


async def accepted(fleet: SignedFleet) -> list[str]:
    """The attacks after which the run asks for something else."""
    seen = await decision_about_another_run(fleet)
    through: list[str] = []
    for attack in ATTACKS:
        handle = await attack(Attack(fleet, seen))
        if (await asked(handle))["id"] != ID:
            through.append(attack.__name__)
        await handle.terminate()
    return through


async def decision_about_another_run(fleet: SignedFleet) -> Json:
    """A decision that ann has signed and sent to another run."""
    if fleet.root is None:
        return UNSIGNED
    other = await fleet.start(GIVEN)
    await asked(other)
    approve = DecideInput(id=ID, decision="approve")
    sent = await signed(fleet, other, person("ann", now=await fleet.now()), approve)
    await other.execute_update("decide", sent)
    await other.terminate()
    return sent.model_dump(mode="json", exclude_none=True)


async def test_no_start_brings_a_decision_along(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    fleet = SignedFleet(server, tmp_path)
    async with fleet.worker():
        assert await accepted(fleet) == []


async def test_the_same_starts_decide_without_signatures(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    fleet = SignedFleet(server, tmp_path, root=None)
    async with fleet.worker():
        assert await accepted(fleet) == [attack.__name__ for attack in ATTACKS]


@pytest.mark.parametrize("root", [ROOT.public, None])
async def test_no_schedule_starts_a_run_with_a_forged_state_or_another_root(
    server: WorkflowEnvironment, tmp_path: Path, root: str | None
) -> None:
    fleet = SignedFleet(server, tmp_path, root=root)
    state = RunState(authority=None)
    begin(PLAN, state)
    state.decide(Decision(id=ID, verdict="approved", by="ann", at="", how="update"))
    async with fleet.worker():
        attack = Attack(fleet, {})
        carried = await attack.schedule(TeamInput(plan=PLAN, carried=state.carried()))
        assert "`carried` is for runs that continue as new" in await refusal(carried)
        other = await attack.schedule(TeamInput(plan=PLAN, decisions_root="another"))
        assert "root key" in await refusal(other)
