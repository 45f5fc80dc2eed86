"""Reach the runs of one Temporal server, and the documents of one project."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from temporalio.client import Client, WorkflowExecutionDescription, WorkflowExecutionStatus

from coterie.audit.audit_buffer import AuditBuffer
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.ended_costs import EndedCosts
from coterie.gateway.operations.error_reports import unknown_run
from coterie.gateway.operations.named_teams import NamedTeams
from coterie.gateway.operations.run_replays import RunReplays
from coterie.gateway.streams.history_pages import HistoryPages
from coterie.gateway.timelines.run_timelines import RunTimelines
from coterie.runs.call_errors import UnknownRun
from coterie.runs.histories.recorded_plans import started_name
from coterie.runs.run_client import Run
from coterie.server.connection import Connection
from coterie.settings import Settings
from coterie.signing.key_files import read_key
from coterie.signing.signers import Signer
from coterie.storage.histories import WORKFLOW

_REPLAYS_AT_ONCE = 2
"""Replays of whole histories take the processor of all."""


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run of the server, and the team that was started."""

    run: Run
    team: str
    description: WorkflowExecutionDescription

    @property
    def is_open(self) -> bool:
        """Whether it has not ended."""
        return self.description.status == WorkflowExecutionStatus.RUNNING


class RunAccess:
    """What the handlers of operations work with. It keeps nothing that a restart would lose."""

    def __init__(self, settings: Settings, connection: Connection, key: Path | None = None) -> None:
        """Take the project, its connection, and the file of the gateway's key, if it has one."""
        self.key_file = key
        """Of the key that signs what people decide, and the audit log."""
        self.settings = settings
        self.connection = connection
        """Replaced when an embedded server moves."""
        self.audit = AuditBuffer()
        """What the audit log shall know."""
        self.replays = asyncio.Semaphore(_REPLAYS_AT_ONCE)
        self.pages = HistoryPages(lambda: self.client)
        self.timelines = RunTimelines(self.pages)
        self.costs = EndedCosts()
        self.teams = NamedTeams(settings, lambda: self.client)
        self.upgrades = RunReplays(lambda: self.client, self.replays)

    @property
    def client(self) -> Client:
        """The client of the server."""
        return self.connection.client

    def run(self, id: str) -> Run:
        """Return a run, which may not exist."""
        return Run(self.client, id)

    def signer(self, subject: str, identity: Identity) -> Signer | None:
        """Return who signs what a verified identity sends; None if the gateway has no key.

        The file is read for each message: its certificate ends within a day, and is renewed there.

        Raises:
            CommandError: The file is not the key of a gateway.
        """
        if self.key_file is None:
            return None
        return Signer(read_key(self.key_file), subject=subject, method=identity.method)

    async def find(self, id: str) -> FoundRun | None:
        """Return a run, and the team that was started; None for another kind of workflow.

        Raises:
            CommandError: The run does not exist, or the server does not answer.
        """
        run = self.run(id)
        description = await run.describe()
        if description.workflow_type != WORKFLOW:
            return None
        return FoundRun(run, await started_name(self.client, description), description)

    async def existing(self, id: str) -> FoundRun:
        """Return a run of ours.

        Raises:
            CommandError: It does not exist, or the server does not answer.
        """
        try:
            found = await self.find(id)
        except UnknownRun:
            raise unknown_run(id) from None
        if found is None:
            raise unknown_run(id)
        return found
