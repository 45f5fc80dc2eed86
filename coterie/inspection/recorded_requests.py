"""The requests of a run: from its worker, or out of its history where no worker serves it."""

from collections.abc import Mapping
from dataclasses import dataclass

from temporalio.client import Client

from coterie.failures import CommandError, ExitCode
from coterie.runs.call_errors import Unanswered
from coterie.runs.run_client import Run
from coterie.runs.task_queues import is_served
from dsl.errors import listed
from workflows.core.requests import Pending, RequestView


@dataclass(frozen=True, slots=True)
class RequestsOfRun:
    """What waits in one run."""

    pending: tuple[Pending, ...]
    recorded: Mapping[str, RequestView] | None = None
    """Every request out of the history; None when a worker answered."""

    @property
    def served(self) -> bool:
        """A worker takes a decision now."""
        return self.recorded is None


async def requests_of(client: Client, run: Run) -> RequestsOfRun:
    """What waits in a run.

    Raises:
        CommandError: there is no such run, or neither a worker nor this code can tell.
    """
    described = await run.describe()
    if await is_served(client, described.task_queue):
        try:
            return RequestsOfRun(await run.pending())
        except Unanswered:
            pass
    from coterie.replay.rebuilt_run import NotFollowed, rebuilt

    found = await rebuilt(await run.history())
    if isinstance(found, NotFollowed):
        return RequestsOfRun(await run.pending())  # fails, and says why
    waiting = [view.pending for view in found.requests.values() if view.pending is not None]
    return RequestsOfRun(tuple(waiting), found.requests)


async def request_of(client: Client, run: Run, id: str | None) -> tuple[RequestView, bool]:
    """One request, and whether a worker would take a decision now.

    Args:
        client: of the run's server.
        run: whose request.
        id: the request's; the only one that waits when None.

    Raises:
        CommandError: there is no such request.
    """
    found = await requests_of(client, run)
    named = id or only_request(run, found.pending)
    if found.recorded is None:
        return await run.request(named), True
    if named not in found.recorded:
        known = listed([one.id for one in found.pending]) or "none"
        raise CommandError(f"there is no request {named!r}; waiting: {known}")
    return found.recorded[named], False


def only_request(run: Run, pending: tuple[Pending, ...]) -> str:
    """The id of the one request that waits.

    Raises:
        CommandError: none waits, or several do.
    """
    ids = [request.id for request in pending]
    if not ids:
        raise CommandError(f"nothing waits for a person in the run {run.id!r}", ExitCode.RUN_FAILED)
    if len(ids) > 1:
        raise CommandError(f"several requests wait in {run.id!r}; name one: {listed(ids)}")
    return ids[0]
