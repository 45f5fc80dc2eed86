"""People who decide: at any moment, sometimes twice at once, sometimes long after."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from coterie.failures import CommandError
from coterie.runs.call_errors import Unanswered
from coterie.runs.run_client import Run
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Pending

AT_ONCE = 12
"""How many runs are looked at in one round."""


@dataclass
class People:
    """They look at some runs at a time and decide what waits there."""

    chance: random.Random
    agree: Callable[[str, Pending], bool]
    """Whether they approve a request of a run."""
    taken: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """How often a decision of (run, request) was answered as taken."""
    refused: int = 0
    """Duplicates and late ones."""
    unanswered: int = 0
    _decided: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    _looked: dict[str, int] = field(default_factory=dict[str, int])
    _rounds: int = 0

    async def round(self, runs: Sequence[Run]) -> None:
        """Look at those not looked at for longest; now and then decide what is decided already."""
        self._rounds += 1
        longest = sorted(runs, key=lambda run: (self._looked.get(run.id, 0), self.chance.random()))
        self._looked |= dict.fromkeys((run.id for run in longest[:AT_ONCE]), self._rounds)
        await asyncio.gather(*(self._look(run) for run in longest[:AT_ONCE]))

    async def _look(self, run: Run) -> None:
        await self._again(run)
        try:
            pending = await run.pending()
        except CommandError:
            self.unanswered += 1  # its worker is dead, or its server
            return
        for request in pending:
            if self.chance.random() < 0.3:
                continue  # they take their time
            twice = self.chance.random() < 0.2
            asked = [self._decision(run, request) for _ in range(2 if twice else 1)]
            await asyncio.gather(*(self._decide(run, one) for one in asked))

    def _decision(self, run: Run, request: Pending) -> DecideInput:
        agreed = self.agree(run.id, request)
        return DecideInput(
            id=request.id, decision="approve" if agreed else "reject", by="ann", comment="chaos"
        )

    async def _again(self, run: Run) -> None:
        """The opposite of what was decided, too late."""
        known = [request for id, request in self._decided if id == run.id]
        if known and self.chance.random() < 0.3:
            late = DecideInput(id=self.chance.choice(known), decision="reject", by="late")
            await self._decide(run, late, late=True)

    async def _decide(self, run: Run, asked: DecideInput, *, late: bool = False) -> None:
        try:
            await run.decide(asked)
        except Unanswered:
            self.unanswered += 1  # whether it was taken is seen later, in what is pending
        except CommandError:
            self.refused += 1
        else:
            self.taken[run.id, asked.id] += 1
            self._decided.append((run.id, asked.id))
            if late:
                self.taken[run.id, f"late {asked.id}"] += 2  # never right
