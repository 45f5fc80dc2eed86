"""Replay open runs in this process: a few at once, each once while it does not grow."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from temporalio.client import Client
from temporalio.client import WorkflowExecutionDescription as Described

from coterie.replay.replay import Comparison, RunReplayed

_MAX_KEPT = 200
_FRESH = timedelta(minutes=5)
"""How long a result counts although its run has grown."""
_log = logging.getLogger("coterie")


@dataclass(frozen=True, slots=True)
class _Replay:
    run_id: str
    events: int
    at: datetime
    task: asyncio.Task[RunReplayed]

    def counts_for(self, described: Described, now: datetime) -> bool:
        """Return whether it need not be repeated."""
        if not self.task.done():
            return True
        same = (described.run_id, described.history_length)
        return same == (self.run_id, self.events) or now - self.at < _FRESH


class RunReplays:
    """The latest replays of open runs."""

    def __init__(self, client: Callable[[], Client], turns: asyncio.Semaphore) -> None:
        """Take what returns the client, and what lets a few replays run at once."""
        self._client = client
        self._turns = turns
        self._replays: dict[str, _Replay] = {}

    async def finished(
        self, runs: Sequence[Described], wait: float
    ) -> dict[str, tuple[RunReplayed, datetime]]:
        """Return the results of those runs that are replayed within a time, and since when."""
        comparison = Comparison(self._client())
        now = datetime.now(UTC)
        for described in runs:
            known = self._replays.get(described.id)
            if known is None or not known.counts_for(described, now):
                self._replays.pop(described.id, None)
                self._begin(comparison, described, now)
        replays = {described.id: self._replays.get(described.id) for described in runs}
        tasks = [replay.task for replay in replays.values() if replay is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=wait)
        return {
            id: (replay.task.result(), replay.at)
            for id, replay in replays.items()
            if replay is not None and replay.task.done() and not replay.task.cancelled()
        }

    def _begin(self, comparison: Comparison, described: Described, now: datetime) -> None:
        """Replay a run as soon as it has its turn; if too many wait, a later request begins it."""
        if len(self._replays) >= _MAX_KEPT:
            done = next((id for id, one in self._replays.items() if one.task.done()), None)
            if done is None:
                return
            del self._replays[done]
        task = asyncio.create_task(self._replay(comparison, described))
        self._replays[described.id] = _Replay(described.run_id, described.history_length, now, task)

    async def _replay(self, comparison: Comparison, described: Described) -> RunReplayed:
        async with self._turns:
            try:
                return await comparison.try_run(described)
            except Exception:
                _log.exception("the run %r could not be replayed", described.id)
                problem = "the replay failed unexpectedly; the log of the gateway has the reason"
                return RunReplayed(described.id, problem=problem)
