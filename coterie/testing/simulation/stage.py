"""Where one case is played: its workspace, its model, its worker, which can be ended hard."""

import asyncio
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from temporalio.client import Client
from temporalio.worker import FixedSizeSlotSupplier, UnsandboxedWorkflowRunner, Worker, WorkerTuner

from activities.agent_activity import AgentActivities
from activities.call_prices import Pricing
from activities.skills.skill_registry import SKILLS
from activities.storage.blobs import MemoryBlobs
from activities.user_code.child_pool import UserCode
from coterie.documents.worker_trust import provider_settings, user_code_of, workspace_of
from coterie.settings import STATE_FOLDER
from coterie.testing.files.test_reader import Case, TestFile
from coterie.testing.simulation.gate import Gate
from coterie.testing.simulation.stub_model import PlayedModel
from coterie.testing.simulation.stub_notifications import PlayedNotices
from coterie.testing.simulation.stub_skills import PlayedSkills
from coterie.version import own_version
from coterie.worker.command_sandbox import command_sandbox
from coterie.worker.workers import MOST_ACTIVITIES
from coterie.worker.workflow_runner import ContextFreeRunner
from workflows.team import TeamWorkflow

_LEFT_BEHIND = (STATE_FOLDER, ".git", ".venv", "__pycache__", "node_modules")
"""Folders of a project that no test needs a copy of."""


@dataclass
class Stage:
    """The surroundings of one case."""

    client: Client
    file: TestFile
    folder: Path
    """The case's own workspace."""
    queue: str
    model: PlayedModel
    skills: PlayedSkills
    user_code: UserCode
    notices: PlayedNotices = field(default_factory=PlayedNotices)
    blobs: MemoryBlobs = field(default_factory=MemoryBlobs)
    """What its conversations say; they outlive a worker."""
    gate: Gate | None = None
    """Set while the worker takes one call at a time."""
    _serving: "tuple[Worker, asyncio.Task[None]] | None" = field(default=None, repr=False)

    def open(self, gate: Gate | None = None) -> None:
        """Begin to serve; through a gate, one call at a time."""
        self.gate = gate
        worker = self._worker(gate)
        self._serving = (worker, asyncio.create_task(worker.run()))

    async def close(self) -> None:
        """End the worker without grace; the memory of its runs is gone with it."""
        if self._serving is not None:
            (worker, task), self._serving = self._serving, None
            await worker.shutdown()
            await task

    def _worker(self, gate: Gate | None) -> Worker:
        agents = AgentActivities(
            self.model,
            agent_packages=self.file.team.trusted.agent_packages,
            call_skill=self.skills.call_skill,
            skills=tuple(SKILLS),
            blobs=self.blobs,
            pricing=Pricing(provider_settings(self.file.team.trusted, self.file.settings)),
            user_code=self.user_code,
        )
        slots = FixedSizeSlotSupplier(MOST_ACTIVITIES)
        return Worker(
            self.client,
            task_queue=self.queue,
            workflows=[TeamWorkflow],
            activities=[agents.run_agent, self.skills.call_skill, self.notices.notify],
            # No user's code runs inside a workflow; for our own, the sandbox stands in our tests.
            workflow_runner=ContextFreeRunner(UnsandboxedWorkflowRunner()),
            build_id=own_version(),
            tuner=WorkerTuner.create_composite(
                workflow_supplier=slots,
                activity_supplier=slots if gate is None else gate,
                local_activity_supplier=slots,
                nexus_supplier=slots,
            ),
            graceful_shutdown_timeout=timedelta(0),
        )


@asynccontextmanager
async def staged(client: Client, file: TestFile, case: Case, queue: str) -> AsyncGenerator[Stage]:
    """The stage of a case, with nobody on it yet; nothing of it is left afterwards."""
    with TemporaryDirectory(prefix="coterie-case-") as temporary:
        folder = Path(temporary) / "workspace"
        _furnish(folder, file.workspace, case)
        trusted = file.team.trusted.model_copy(update={"workspace": str(folder)})
        sandbox, _ = command_sandbox(trusted, file.settings)
        stage = Stage(
            client=client,
            file=file,
            folder=folder,
            queue=queue,
            model=PlayedModel(case.answers),
            skills=PlayedSkills(workspace_of(trusted, file.settings, sandbox), case.skills),
            user_code=user_code_of(trusted, file.settings),
        )
        try:
            yield stage
        finally:
            await stage.close()
            await stage.user_code.close()


def _furnish(folder: Path, source: Path | None, case: Case) -> None:
    if source is None:
        folder.mkdir()
    else:
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns(*_LEFT_BEHIND))
    for name, text in case.files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
