"""Read the registry: the deployed versions of teams. It needs no worker."""

from typing import NamedTuple

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryRequest
from temporalio.client import Client, WorkflowHistory

from coterie.deployed.team_content import TeamContent, unpacked
from coterie.deployed.version_references import reference_of
from coterie.dsl.errors import listed
from coterie.dsl.reserved_ids import REGISTRY_PREFIX
from coterie.failures import CommandError
from coterie.runs.histories.history_events import started
from coterie.runs.own_workflows import own_execution
from coterie.workflows.core.registry_messages import (
    REGISTRY_WORKFLOW,
    RegistryState,
    TeamRecord,
    VersionRecord,
)


class DeployedVersion(NamedTuple):
    """A version that a start names."""

    team: str
    record: VersionRecord
    content: TeamContent

    @property
    def name(self) -> str:
        """The version for people: `review@3`."""
        return f"{self.team}@{self.record.number}"


class UnknownVersion(CommandError):
    """A start names a version that the registry does not have."""


def registry_of(task_queue: str) -> str:
    """Return the id of the registry of a task queue."""
    return f"{REGISTRY_PREFIX}{task_queue}"


class Registry:
    """The registry of one task queue, as far as it has not changed since the last look."""

    def __init__(self, client: Client, task_queue: str) -> None:
        self.id = registry_of(task_queue)
        self.task_queue = task_queue
        self.client = client
        self._read: tuple[str, RegistryState] | None = None

    async def state(self) -> RegistryState:
        """Return what it has; it is empty before the first deployment.

        Raises:
            CommandError: Something else is open with its id, or it is damaged.
            RPCError: The server does not answer.
        """
        run_id = await own_execution(self.client, self.id, REGISTRY_WORKFLOW)
        if run_id is None:
            return RegistryState()
        if self._read is None or self._read[0] != run_id:
            self._read = (run_id, await self._state_of(run_id))
        return self._read[1]

    async def version(self, text: str) -> DeployedVersion | None:
        """Return the version that a start names; None for a team that is not deployed.

        Raises:
            UnknownVersion: There is no such version.
            CommandError: The registry is damaged.
            RPCError: The server does not answer.
        """
        return version_named(await self.state(), text)

    async def _state_of(self, run_id: str) -> RegistryState:
        request = GetWorkflowExecutionHistoryRequest(
            namespace=self.client.namespace,
            execution=WorkflowExecution(workflow_id=self.id, run_id=run_id),
            maximum_page_size=1,
        )
        page = await self.client.workflow_service.get_workflow_execution_history(
            request, retry=True
        )
        begun = started(WorkflowHistory(self.id, list(page.history.events)))
        state = begun.value.read_if(RegistryState)
        if state is None:
            raise CommandError(
                f"the registry {self.id!r} on the server cannot be read: delete this workflow, "
                "then deploy again"
            )
        return state


def version_named(state: RegistryState, text: str) -> DeployedVersion | None:
    """Return the version that a start names; None for a team that is not deployed.

    Raises:
        UnknownVersion: There is no such version.
        CommandError: Its content is damaged.
    """
    team, number = reference_of(text)
    record = state.teams.get(team)
    if number is None:
        number = 0 if record is None else record.current
        if not number:
            return None
    version = None if record is None else record.version(number)
    if version is None:
        raise UnknownVersion(_unknown_text(team, number, record))
    content = unpacked(state.contents.get(version.digest, ""), version.digest)
    return DeployedVersion(team, version, content)


def _unknown_text(team: str, number: int, record: TeamRecord | None) -> str:
    if record is None:
        return f"there is no {team}@{number}: {team!r} has not been deployed (`coterie deploy`)"
    kept = listed([f"{team}@{one.number}" for one in record.versions])
    return f"there is no {team}@{number}; the registry keeps {kept}"
