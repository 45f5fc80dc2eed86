"""Replay the open runs of a server: every link of each, compared with its own worker.

An open run has no result whose digest could be compared. Its worker reports the digest over all
decisions so far, so the running code is compared with this code, even if both make the same calls.
"""

import asyncio
from asyncio import FIRST_COMPLETED
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Sequence
from dataclasses import dataclass, replace

from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus, WorkflowHistory
from temporalio.service import RPCError

from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.replay.effects import WorldEffect
from coterie.replay.replay import Replayed, replay
from coterie.replay.replay_differences import Difference
from coterie.runs.call_errors import NoWorker
from coterie.runs.histories.history_links import links
from coterie.runs.run_client import Run
from coterie.workflows.core.views import RunStatus, TrailEntry

AT_ONCE = 4
"""Histories to fetch and replay concurrently: each may take fifty megabytes."""


@dataclass(frozen=True, slots=True)
class RunReplayed:
    """The result of replaying all links of one run."""

    run: str
    links: int = 0
    events: int = 0
    calls: int = 0
    end: WorldEffect | None = None
    """None if the run is open."""
    compared: int | None = None
    """Number of decisions compared with its own worker's; None if no worker answered."""
    digest: str = ""
    differences: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    problem: str = ""
    """Why it could not be replayed at all."""

    @property
    def same(self) -> bool:
        """Whether this code can take over the run."""
        return not self.differences and not self.problem


async def replayed_file(history: WorkflowHistory) -> RunReplayed:
    """Replay a single history from a file, without a worker."""
    return _sum_up([await replay(history)])


def _sum_up(seen: Sequence[Replayed]) -> RunReplayed:
    return RunReplayed(
        run=seen[-1].run,
        links=len(seen),
        events=sum(one.events for one in seen),
        calls=sum(one.calls for one in seen),
        end=seen[-1].end,
        differences=seen[-1].differences,
        more=tuple(dict.fromkeys(field for one in seen for field in one.more)),
    )


class Comparison:
    """Replays runs of one server, and asks their workers."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._silent: set[str] = set()
        """Queues without a worker, to avoid a timeout for each of a thousand runs."""

    async def run(self, id: str) -> RunReplayed:
        """Replay all links of a run.

        Raises:
            CommandError: The run does not exist, or the server does not answer.
        """
        return await self._compare_with_worker(await Run(self._client, id).describe())

    async def open_runs(
        self, executions: AsyncIterable[WorkflowExecution]
    ) -> AsyncGenerator[RunReplayed]:
        """Yield each run as it finishes, several concurrently; failures carry their reason."""
        waiting: set[asyncio.Task[RunReplayed]] = set()
        try:
            async for execution in executions:
                waiting.add(asyncio.create_task(self._try_replay(execution)))
                if len(waiting) >= AT_ONCE:
                    done, waiting = await asyncio.wait(waiting, return_when=FIRST_COMPLETED)
                    for task in done:
                        yield task.result()
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=FIRST_COMPLETED)
                for task in done:
                    yield task.result()
        finally:
            for task in waiting:
                task.cancel()

    async def _try_replay(self, execution: WorkflowExecution) -> RunReplayed:
        try:
            return await self._compare_with_worker(execution)
        except (CommandError, RPCError, RuntimeError) as error:
            return RunReplayed(execution.id, problem=str(error).partition("\n")[0])

    async def _compare_with_worker(self, execution: WorkflowExecution) -> RunReplayed:
        """Ask the worker before fetching the history, which then contains all its events."""
        status = await self._status(execution)
        seen: list[Replayed] = []
        async for history in links(self._client, execution.id):
            seen.append(await replay(history))
            if seen[-1].differences:
                break  # the state was carried over from there
        whole = _sum_up(seen)
        if status is None or whole.end is not None:
            return whole
        return await self._with_decisions(whole, seen[-1], status)

    async def _status(self, execution: WorkflowExecution) -> RunStatus | None:
        """Return the worker's status of the run; None if it has ended or no worker answers."""
        queue = execution.task_queue
        if execution.status is not WorkflowExecutionStatus.RUNNING or queue in self._silent:
            return None
        try:
            return await Run(self._client, execution.id).status()
        except NoWorker:
            self._silent.add(queue)
        except CommandError:
            pass
        return None

    async def _with_decisions(
        self, whole: RunReplayed, last: Replayed, status: RunStatus
    ) -> RunReplayed:
        """Compare the worker's decisions with this code's."""
        mine = last.digests.get(status.events)
        if mine is None or not status.trail_digest:
            return whole
        if mine != status.trail_digest and not whole.differences:
            theirs = await Run(self._client, whole.run).trail()
            whole = replace(whole, differences=(_first_decision(theirs, last.trail),))
        return replace(whole, compared=status.events, digest=mine)


def _decision_facts(entry: TrailEntry) -> Json:
    """Return the facts of an entry, without its wording."""
    return entry.model_dump(mode="json", exclude={"because"})


def _first_decision(theirs: Iterable[TrailEntry], ours: Iterable[TrailEntry]) -> str:
    """Describe the first decision that the run's own worker reports differently."""
    now = {entry.number: entry for entry in ours}
    for entry in theirs:
        mine = now.get(entry.number)
        if mine is None:
            continue
        before, after = _decision_facts(entry), _decision_facts(mine)
        if before != after:
            step = f"{entry.team}/{entry.step}" if entry.step else entry.team
            field = next(name for name in before if before[name] != after[name])
            where = f"decision {entry.number} ({entry.kind} of {step}#{entry.visit})"
            return Difference(where, field, before[field], after[field]).description
    return "the decisions: the same entries, and another value that a route sets in the context"
