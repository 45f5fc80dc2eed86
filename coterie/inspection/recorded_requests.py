"""List the requests of a run: from its worker, or from its history if no worker serves it."""

from collections.abc import Mapping
from dataclasses import dataclass

from temporalio.client import Client

from coterie.dsl.errors import listed
from coterie.failures import CommandError, ExitCode
from coterie.runs.call_errors import Unanswered
from coterie.runs.run_client import Run
from coterie.runs.task_queues import is_served
from coterie.workflows.core.requests import Pending, RequestView


@dataclass(frozen=True, slots=True)
class RequestsOfRun:
    """Requests that wait in one run."""

    pending: tuple[Pending, ...]
    recorded: Mapping[str, RequestView] | None = None
    """Every request from the history; None if a worker answered."""

    @property
    def served(self) -> bool:
        """Whether a worker can accept a decision now."""
        return self.recorded is None


async def requests_of(client: Client, run: Run) -> RequestsOfRun:
    """Return the waiting requests of a run.

    Raises:
        CommandError: The run does not exist, or neither a worker nor this code can follow it.
    """
    description = await run.describe()
    if await is_served(client, description.task_queue):
        try:
            return RequestsOfRun(await run.pending())
        except Unanswered:
            pass
    from coterie.replay.rebuilt_run import NotFollowed, rebuilt

    rebuilt_run = await rebuilt(await run.history())
    if isinstance(rebuilt_run, NotFollowed):
        return RequestsOfRun(await run.pending())  # raises with the reason
    views: dict[str, RequestView] = {}
    for id, view in rebuilt_run.requests.items():
        whole = None if view.pending is None else await run.complete(view.pending)
        views[id] = view.model_copy(update={"pending": whole})
    waiting = [view.pending for view in views.values() if view.pending is not None]
    return RequestsOfRun(tuple(waiting), views)


async def request_of(client: Client, run: Run, id: str | None) -> tuple[RequestView, bool]:
    """Return one request, and whether a worker would accept a decision now.

    Args:
        client: Client of the run's server.
        run: The run.
        id: The request; None for the only one that waits.

    Raises:
        CommandError: The request does not exist.
    """
    requests = await requests_of(client, run)
    name = id or only_request(run, requests.pending)
    if requests.recorded is None:
        return await run.request(name), True
    if name not in requests.recorded:
        ids = listed([request.id for request in requests.pending]) or "none"
        raise CommandError(f"there is no request {name!r}; waiting: {ids}")
    return requests.recorded[name], False


def only_request(run: Run, pending: tuple[Pending, ...]) -> str:
    """Return the id of the only waiting request.

    Raises:
        CommandError: None or several wait.
    """
    ids = [request.id for request in pending]
    if not ids:
        raise CommandError(f"no request waits in run {run.id!r}", ExitCode.RUN_FAILED)
    if len(ids) > 1:
        raise CommandError(f"several requests wait in run {run.id!r}; name one: {listed(ids)}")
    return ids[0]
