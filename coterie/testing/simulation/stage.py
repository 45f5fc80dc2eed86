"""Set up one case: its workspace, its model, and its worker, which can be killed."""

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from temporalio.client import Client
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    FixedSizeSlotSupplier,
    Interceptor,
    UnsandboxedWorkflowRunner,
    Worker,
    WorkerTuner,
)

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.agents.inner_calls import InnerCalls
from coterie.activities.model_prices import Pricing
from coterie.activities.os_errors import reason_of
from coterie.activities.storage.blobs import MemoryBlobs
from coterie.activities.user_code.child_pool import UserCode
from coterie.documents.tool_discovery import tool_code
from coterie.dsl.model.capabilities import Reach
from coterie.failures import CommandError
from coterie.runtime.workflow_sandbox import ContextFreeRunner
from coterie.settings import STATE_FOLDER
from coterie.storage.value_storage import ONE_BY_ONE
from coterie.testing.files.case_reader import Case, TestFile
from coterie.testing.simulation.gate import Gate
from coterie.testing.simulation.simulated_signer import start_settings
from coterie.testing.simulation.stub_functions import StubFunctions
from coterie.testing.simulation.stub_model import StubModel
from coterie.testing.simulation.stub_notifications import StubNotifications
from coterie.testing.simulation.stub_targets import allow_targets
from coterie.version import own_version
from coterie.worker.command_sandbox import command_sandbox
from coterie.worker.surroundings import (
    agent_types,
    provider_settings,
    python_functions,
    user_code_of,
    workspace_of,
)
from coterie.worker.workers import MAX_ACTIVITIES
from coterie.workflows.team import TeamWorkflow


class Pulse(Interceptor):
    """Notes each begin and end of a call."""

    def __init__(self) -> None:
        self._last = 0.0

    def beat(self) -> None:
        """Note that something happened."""
        self._last = monotonic()

    async def still(self, seconds: float) -> None:
        """Wait until no call has begun or ended for this long, from now on."""
        self.beat()
        remaining = seconds
        while remaining > 0:
            await asyncio.sleep(remaining)
            remaining = self._last + seconds - monotonic()

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """Watch the calls of a worker."""
        return _Watched(next, self)


class _Watched(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, pulse: Pulse) -> None:
        super().__init__(next)
        self._pulse = pulse

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        self._pulse.beat()
        try:
            return await super().execute_activity(input)
        finally:
            self._pulse.beat()


LEFT_BEHIND = (STATE_FOLDER, ".git", ".venv", "__pycache__", "node_modules")
"""Folders of a project that a copy for tests does not need."""


@dataclass
class Stage:
    """The environment of one case."""

    client: Client
    file: TestFile
    folder: Path
    """The case's own workspace."""
    queue: str
    model: StubModel
    functions: StubFunctions
    user_code: UserCode
    reach: Reach = field(default_factory=Reach)
    notifications: StubNotifications = field(default_factory=StubNotifications)
    blobs: MemoryBlobs = field(default_factory=MemoryBlobs)
    """Its conversations, which survive a worker."""
    gate: Gate | None = None
    """Set while the worker takes one call at a time."""
    pulse: Pulse = field(default_factory=Pulse)
    _serving: "tuple[Worker, asyncio.Task[None]] | None" = field(default=None, repr=False)

    def open(self, gate: Gate | None = None) -> None:
        """Start the worker; with a gate, it takes one call at a time."""
        self.gate = gate
        worker = self._worker(gate)
        self._serving = (worker, asyncio.create_task(worker.run()))

    async def close(self) -> None:
        """Kill the worker; its cached runs are lost."""
        if self._serving is not None:
            (worker, task), self._serving = self._serving, None
            await worker.shutdown()
            await task

    @property
    def takes_signed_decisions(self) -> bool:
        """Whether the project's workers take only signed decisions."""
        return self.file.team.trusted.decisions_root is not None

    def _worker(self, gate: Gate | None) -> Worker:
        agents = AgentActivities(
            self.model,
            agent_types=agent_types(self.file.team.trusted),
            agent_packages=self.file.team.trusted.agent_packages,
            call_function=self.functions.call_function,
            inner_calls=InnerCalls(self.functions.contracts, self.reach),
            blobs=self.blobs,
            pricing=Pricing(provider_settings(self.file.team.trusted, self.file.settings)),
            user_code=self.user_code,
        )
        slots = FixedSizeSlotSupplier(MAX_ACTIVITIES)
        return Worker(
            self.client,
            interceptors=[self.pulse],
            task_queue=self.queue,
            workflows=[TeamWorkflow],
            activities=[
                agents.run_agent,
                self.functions.call_function,
                self.notifications.notify,
                start_settings,
                allow_targets,
            ],
            # No user code runs inside a workflow; our own tests check ours in the sandbox.
            workflow_runner=ContextFreeRunner(UnsandboxedWorkflowRunner()),
            build_id=own_version(),
            max_workflow_task_external_storage_concurrency=ONE_BY_ONE,
            # Each open poll costs the server, and the worker of a case serves one run.
            max_concurrent_workflow_task_polls=2,
            max_concurrent_activity_task_polls=2,
            tuner=WorkerTuner.create_composite(
                workflow_supplier=slots,
                activity_supplier=slots if gate is None else gate,
                local_activity_supplier=slots,
                nexus_supplier=slots,
            ),
        )


@asynccontextmanager
async def prepared_stage(
    client: Client, file: TestFile, case: Case, queue: str
) -> AsyncGenerator[Stage]:
    """Prepare the stage of a case, without a worker; delete everything afterwards."""
    with TemporaryDirectory(prefix="coterie-case-") as temporary:
        folder = Path(temporary) / "workspace"
        furnish(folder, file.workspace, case.files)
        trusted = file.team.trusted.model_copy(update={"workspace": str(folder)})
        sandbox, _ = command_sandbox(trusted, file.settings)
        tools = tool_code(file.settings, folder)
        stage = Stage(
            client=client,
            file=file,
            folder=folder,
            queue=queue,
            model=StubModel(case.answers),
            functions=StubFunctions(
                workspace_of(trusted, file.settings, sandbox),
                case.functions,
                case.stand_ins,
                python_functions(trusted, file.settings, tools),
                real=case.document.real,
            ),
            user_code=user_code_of(trusted, file.settings),
            reach=trusted.reach(sandboxed=sandbox is not None),
        )
        try:
            yield stage
        finally:
            await stage.close()
            await stage.user_code.close()
            await tools.close()


def furnish(folder: Path, source: Path | None, files: Mapping[str, str]) -> None:
    """Create the workspace of a case: a copy of the source, and the case's own files.

    Raises:
        CommandError: A file cannot be copied or written, or a link leads out of the source; says
            which, and why.
    """
    try:
        if source is None:
            folder.mkdir()
        else:
            _refuse_links_out(source)
            ignore = shutil.ignore_patterns(*LEFT_BEHIND)
            shutil.copytree(source, folder, ignore=ignore, copy_function=_copy_file)
        _write_files(folder, files)
    except shutil.Error as error:  # for folders: one entry each, as text
        raise CommandError(f"could not copy {source} for a test: {error.args[0][0][2]}") from None
    except OSError as error:
        raise CommandError(
            f"could not write the workspace of a test in {folder.parent}: {reason_of(error)}"
        ) from None


def _write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        file = folder / name
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(
                f"could not write the file {name!r} of a test: {reason_of(error)}"
            ) from None


def _refuse_links_out(source: Path) -> None:
    """Refuse links to what is outside: a copy holds files of the project alone."""
    root = source.resolve()
    for place, folders, files in os.walk(source):
        folders[:] = [name for name in folders if name not in LEFT_BEHIND]
        for path in (Path(place, name) for name in (*folders, *files)):
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                raise CommandError(
                    f"{path.relative_to(source)} of {source} is a link that leads out of the "
                    "workspace, and a test works on a copy of the workspace alone; replace it with "
                    "what it leads to, or move it out of the workspace"
                )


def _copy_file(source: str, target: str) -> str:
    """Copy one file; `copytree` raises an OSError only after trying all files."""
    try:
        return shutil.copy2(source, target)
    except OSError as error:
        raise CommandError(
            f"could not copy {source} to {target} for a test: {reason_of(error)}"
        ) from None
