"""What is played: the calls of each run, and at which of them what is killed. All by the seed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from coterie.dsl.values import Json

MIX = {"look": 6, "store": 5, "pay": 4, "stock": 5, "label": 2, "send": 2, "fire": 2, "helper": 4}
"""How many calls of each tool are in a run: 30."""
CALLS = sum(MIX.values())
ONCE = frozenset({"pay", "send", "fire"})
PLAYS = 3
"""How many different plays there are; the runs take them in turns."""
KILLS_OF_A_RUN = 5
_TAKES_A_NUMBER = ("look", "stock", "helper")
_SECONDS = (0.05, 0.7)
"""Of a call."""
_UNSURE = 0.3
"""Of how many calls that must not happen twice nobody can tell whether they did."""

Victim = Literal["worker", "server", "both", "mcp"]
_WEIGHTS: dict[Victim, int] = {"worker": 5, "mcp": 3, "server": 2, "both": 1}
_AT_ONCE_TOOLS = 0.4
"""Of how many kills the moment is a call that must not happen twice: those hurt most."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One call that the model makes."""

    tool: str
    number: int
    """From 1, in the order of the run."""
    seconds: float
    argument: int
    unsure: bool
    """Whether nobody can tell afterwards if it happened."""

    def id(self, run: str) -> str:
        """What the tool notes of it."""
        return f"{run}/{self.number:02}"

    def json(self, run: str) -> Json:
        """The call as the model is told."""
        arguments: Json = {"id": self.id(run), "seconds": self.seconds}
        if self.tool in _TAKES_A_NUMBER:
            arguments["number"] = self.argument
        return {"tool": self.tool, "arguments": arguments, "unsure": self.unsure}


Play = tuple[tuple[PlannedCall, ...], ...]
"""The calls of each turn."""


@dataclass(frozen=True, slots=True)
class Strike:
    """One `kill -9`: of what, and when."""

    run: str
    call: PlannedCall
    """That has begun."""
    delay: float
    """Seconds after that."""
    victim: Victim
    chance: float
    """From 0 to 1: which of several workers or servers, and how long until the next one starts."""

    def __str__(self) -> str:
        return f"{self.victim}, {self.delay:.2f} s into {self.call.id(self.run)} ({self.call.tool})"


def random_play(chance: random.Random) -> Play:
    """Return the turns of a run: one to three calls in each."""
    tools = [tool for tool, count in MIX.items() for _ in range(count)]
    chance.shuffle(tools)
    calls = [
        PlannedCall(
            tool,
            number,
            round(chance.uniform(*_SECONDS), 2),
            chance.randint(1, 100),
            tool in ONCE and chance.random() < _UNSURE,
        )
        for number, tool in enumerate(tools, 1)
    ]
    turns: list[tuple[PlannedCall, ...]] = []
    while calls:
        size = chance.randint(1, 3)
        turns.append(tuple(calls[:size]))
        del calls[:size]
    return tuple(turns)


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is up to the seed."""

    plays: tuple[Play, ...]
    runs: tuple[str, ...]
    strikes: tuple[Strike, ...]
    seed: int = 0
    """Of people, too."""

    @classmethod
    def of(cls, seed: int, kills: int) -> "Plan":
        """Return the plan of this seed: five kills a run, the rest in the last one."""
        chance = random.Random(seed)
        plays = tuple(random_play(chance) for _ in range(PLAYS))
        runs = tuple(f"r{number:04}" for number in range(max(1, kills // KILLS_OF_A_RUN)))
        strikes: list[Strike] = []
        for number, run in enumerate(runs):
            rest = kills - len(strikes) if run == runs[-1] else KILLS_OF_A_RUN
            play = plays[number % len(plays)]
            strikes += _strikes(run, play, rest, chance)
        return cls(plays, runs, tuple(strikes), seed)

    def play(self, run: str) -> Play:
        """Return the play of a run, also of an undisturbed one."""
        return self.plays[int(run[1:]) % len(self.plays)]

    def twin(self, run: str) -> str:
        """Return the undisturbed run of the same play."""
        return f"u{int(run[1:]) % len(self.plays):04}"


def _strikes(run: str, play: Play, number: int, chance: random.Random) -> list[Strike]:
    """Return so many, each at another call as long as there are any."""
    made: list[Strike] = []
    left: list[PlannedCall] = []
    for _ in range(number):
        left = left or [call for call in calls_in(play) if call.tool != "helper"]
        hurting = [call for call in left if call.tool in ONCE]
        call = chance.choice(hurting if hurting and chance.random() < _AT_ONCE_TOOLS else left)
        left.remove(call)
        [victim] = chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
        delay = round(chance.uniform(0, call.seconds), 2)
        made.append(Strike(run, call, delay, victim, chance.random()))
    return made


def calls_in(play: Play) -> Sequence[PlannedCall]:
    """Return the calls of all turns."""
    return [call for turn in play for call in turn]
