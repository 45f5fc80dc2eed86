"""Workers that take only signed decisions, the keys of their people, and what strangers send."""

import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from temporalio.testing import WorkflowEnvironment

from coterie.runs.run_client import Run
from coterie.signing.key_files import KeyFile, generate
from coterie.signing.signers import Signer, issue
from coterie.worker.plan_policy import PlanPolicy
from coterie.workflows.core.messages import DecideInput, SignedInput
from coterie.workflows.core.views import RunStatus
from coterie.workflows.signatures.statements import Authority
from tests.workflow.test_raw_plans import Fleet

Message = TypeVar("Message", bound=SignedInput)
ROOT = generate("root")
HOUR = timedelta(hours=1)


def person(name: str, *, root: KeyFile = ROOT, now: datetime, life: timedelta = HOUR) -> Signer:
    """Return the signer of a person with a key that a root has certified."""
    return Signer(issue(root, "person", name, life=life, now=now))


@dataclass
class SignedFleet:
    """Workers of one queue that take only decisions signed under a root; any, without a root."""

    env: WorkflowEnvironment
    folder: Path
    root: str | None = ROOT.public
    accept_plans: bool = True

    def __post_init__(self) -> None:
        if self.root is not None:
            demand = f"worker: {{decisions: {{signed: required, root: '{self.root}'}}}}\n"
            (self.folder / "coterie.yml").write_text(demand)
        self.fleet = Fleet(self.env, self.folder)

    @asynccontextmanager
    async def worker(self) -> AsyncGenerator[None]:
        policy = PlanPolicy(accept_plans=self.accept_plans, decisions_root=self.root)
        async with self.fleet.worker(accept_plans=self.accept_plans, policy=policy):
            yield

    async def start(self, given: object, **options: Any) -> Any:
        return await self.env.client.start_workflow(
            "TeamWorkflow",
            given,
            id=options.pop("id", f"signed-{uuid.uuid4()}"),
            task_queue=self.fleet.queue,
            **options,
        )

    async def now(self) -> datetime:
        return (await self.env.get_current_time()).astimezone(UTC)

    def run(self, handle: Any) -> Run:
        return Run(self.env.client, handle.id)


async def authority_of(handle: Any) -> Authority:
    """Return what a run demands of decisions."""
    status = RunStatus.model_validate(await handle.query("status"))
    assert status.authority is not None
    return status.authority


async def signed(fleet: SignedFleet, handle: Any, signer: Signer, asked: Message) -> Message:
    """Return a message to a run, signed now; a decision for what its request shows."""
    request = None
    if isinstance(asked, DecideInput):
        request = (await fleet.run(handle).request(asked.id)).pending
    return signer.sign(asked, await authority_of(handle), request, now=await fleet.now())
