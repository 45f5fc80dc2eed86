"""What ended runs have cost: asked once for each, since it does not change."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

from temporalio.client import Client

from coterie.failures import CommandError
from coterie.runs.run_client import Run

_AT_ONCE = 10
_WAIT_SECONDS = 5.0
"""What is not known by then has no cost on the page; the next view asks again."""
_MAX_KEPT = 5_000
EndedRun = tuple[str, str]
"""The id of a run, and when it ended."""


class EndedCosts:
    """The costs of ended runs, by run and end."""

    def __init__(self) -> None:
        """Know none."""
        self._costs: OrderedDict[EndedRun, float | None] = OrderedDict()

    async def of_runs(self, client: Client, runs: Sequence[EndedRun]) -> dict[str, float | None]:
        """Return `{run: US dollars}`, of runs with a known result; None: no price is known."""
        turns = asyncio.Semaphore(_AT_ONCE)
        missing = [run for run in runs if run not in self._costs]
        asking = [asyncio.create_task(self._ask(client, run, turns)) for run in missing]
        if asking:
            _, late = await asyncio.wait(asking, timeout=_WAIT_SECONDS)
            for task in late:
                task.cancel()
        found = {run[0]: self._costs[run] for run in runs if run in self._costs}
        while len(self._costs) > _MAX_KEPT:
            self._costs.popitem(last=False)
        return found

    async def _ask(self, client: Client, run: EndedRun, turns: asyncio.Semaphore) -> None:
        async with turns:
            try:
                end = await Run(client, run[0]).end()
            except CommandError:
                return
            self._costs[run] = None if end.result is None else end.result.cost
