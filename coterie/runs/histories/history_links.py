"""The histories of a run: one for each continue-as-new, and those of the run it was forked from."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from temporalio.client import Client, WorkflowHistory
from temporalio.service import RPCError, RPCStatusCode

from coterie.activities.contracts import FORK_RUN, ForkResult
from coterie.runs.call_errors import call_error
from coterie.runs.histories.history_events import read_event, read_events, started
from coterie.runs.histories.recorded_events import CallEnded, CallScheduled, RunStarted
from coterie.runs.run_client import Run


async def links(client: Client, id: str) -> AsyncGenerator[WorkflowHistory]:
    """Yield the histories of a run, oldest first, with all their values.

    Omit links that the server has deleted; each later one starts with the state of the run.

    Raises:
        CommandError: The run does not exist, or a stored value is missing.
    """
    run = Run(client, id)
    latest = await run.history()
    earlier: list[str] = []
    before = started(latest).previous
    while before and (first := await _first_event(client, id, before)) is not None:
        earlier.append(before)
        before = first.previous
    for part in reversed(earlier):
        yield await run.history(part)
    yield latest


async def _first_event(client: Client, id: str, run_id: str) -> RunStarted | None:
    handle = client.get_workflow_handle(id, run_id=run_id)
    try:
        async for event in handle.fetch_history_events(page_size=1):
            first = read_event(event)
            return first if isinstance(first, RunStarted) else None
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise call_error(id, error) from None
    return None


@dataclass(frozen=True, slots=True)
class PreviousHistory:
    """What came before the beginning of a history."""

    history: WorkflowHistory
    is_other_run: bool = False
    """The run was forked from this one."""
    point: ForkResult | None = None
    """Of a fork: where it continues; None until a worker has found that."""


async def previous_history(client: Client, history: WorkflowHistory) -> PreviousHistory | None:
    """Return what came before a history; None for the first one."""
    first = started(history)
    if first.previous:
        return PreviousHistory(await Run(client, history.workflow_id).history(first.previous))
    fork = first.input.fork
    if fork is None:
        return None
    origin = await Run(client, fork.run).history(fork.run_id)
    return PreviousHistory(origin, is_other_run=True, point=fork_point(history))


def fork_point(history: WorkflowHistory) -> ForkResult | None:
    """Return where a fork continues; None until a worker has found that."""
    forks: set[int] = set()
    for event in read_events(history.events):
        match event:
            case CallScheduled(activity=activity) if activity == FORK_RUN:
                forks.add(event.id)
            case CallEnded(end="completed") if event.scheduled in forks:
                return event.value.read(ForkResult)
            case _:
                pass
    return None
