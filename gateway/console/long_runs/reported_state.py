"""What a run itself says of its state: totals, costs, requests, the newest decisions, the context.

A worker answers, which takes no event. It may have to replay the run first, so pages do not wait
for it: they say that they have asked, and show the answer when it is there.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.gateway.console.page_templates import ROWS
from coterie.runs.run_client import Run
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.views import CostReport, RunStatus, TrailEntry

_WAIT_SECONDS = 0.5
"""How long a page waits for the answer."""
_MAX_KEPT = 24


@dataclass(frozen=True, slots=True)
class ReportedState:
    """What a run has answered."""

    at: datetime
    status: RunStatus
    cost: CostReport
    pending: tuple[Pending, ...]
    entries: tuple[TrailEntry, ...]
    """The newest ones of its trail."""
    context: Json


@dataclass(frozen=True, slots=True)
class Report:
    """An answer, or why there is none yet."""

    state: ReportedState | None = None
    """The latest one."""
    refusal: str = ""
    """Why the latest question has no answer."""


class ReportedStates:
    """Asks runs, each once for all who look at it."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._asked: OrderedDict[str, _Question] = OrderedDict()

    async def report(self, run: Run, version: tuple[str, int]) -> Report:
        """Return what a run says of itself.

        Args:
            run: The run.
            version: Its history, and how many events that has: asked again when it has grown.
        """
        question = self._asked.setdefault(run.id, _Question())
        self._asked.move_to_end(run.id)
        while len(self._asked) > _MAX_KEPT:
            self._asked.popitem(last=False)
        return await question.ask(run, version)


class _Question:
    """One run, and what it has answered last."""

    def __init__(self) -> None:
        self._report = Report()
        self._version: tuple[str, int] | None = None
        self._task: asyncio.Task[Report] | None = None

    async def ask(self, run: Run, version: tuple[str, int]) -> Report:
        if self._task is None and version != self._version:
            self._task = asyncio.create_task(self._answer(run, version))
        if self._task is not None:
            task = self._task
            await asyncio.wait((task,), timeout=_WAIT_SECONDS)
            if task.done() and self._task is task:
                self._report, self._task = task.result(), None
        return self._report

    async def _answer(self, run: Run, version: tuple[str, int]) -> Report:
        try:
            state = await _ask(run)
        except CommandError as error:
            return Report(self._report.state, str(error))
        self._version = version
        return Report(state)


async def _ask(run: Run) -> ReportedState:
    status = await run.status()
    cost, pending, entries, context = await asyncio.gather(
        run.cost(),
        run.pending(),
        run.trail(max(0, status.events - ROWS)),
        run.state("context"),
    )
    value = context.value if isinstance(context.value, Mapping) else {}
    return ReportedState(datetime.now(UTC), status, cost, pending, tuple(entries), dict(value))
