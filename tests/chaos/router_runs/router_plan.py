"""What is played: the three messages of a research session, and what is killed at which gap."""

import random
from dataclasses import dataclass
from typing import Literal

MESSAGES = (
    "I'm researching tide forecasts",
    "What about for storm surges?",
    "Any 2024 papers on this?",
)
UNDISTURBED = "session-0"

Where = Literal["between two calls", "while a person is asked", "between two turns"]
RouterVictim = Literal["worker", "server", "both"]
_VICTIMS: tuple[RouterVictim, ...] = ("worker", "server", "both")


@dataclass(frozen=True, slots=True)
class Gap:
    """Where a session is when something dies."""

    turn: int
    """Number of the message, from 1: within its turn, or after its reply."""
    where: Where


GAPS = (
    Gap(1, "between two calls"),
    Gap(1, "between two turns"),
    Gap(2, "between two calls"),
    Gap(2, "between two turns"),
    Gap(3, "between two calls"),
    Gap(3, "while a person is asked"),
)
"""In the order of the session; each turn makes two calls of tools, one after the other."""


@dataclass(frozen=True, slots=True)
class RouterStrike:
    """One `kill -9`: of what, and when."""

    gap: Gap
    victim: RouterVictim
    delay: float
    """Seconds into the gap."""

    def __str__(self) -> str:
        return f"{self.victim}, {self.gap.where}, turn {self.gap.turn}"


@dataclass(frozen=True, slots=True)
class RouterPlan:
    """Everything that is up to the seed."""

    sessions: dict[str, tuple[RouterStrike, ...]]
    """`{session: its kills, in their order}`."""

    @classmethod
    def of(cls, seed: int, kills: int) -> "RouterPlan":
        """Return the plan of this seed: each session dies at every gap, the last one at the rest.

        With three sessions, each gap has met each victim.
        """
        chance = random.Random(seed)
        sessions: dict[str, tuple[RouterStrike, ...]] = {}
        for number in range(-(-kills // len(GAPS))):
            strikes = tuple(
                RouterStrike(
                    gap,
                    _VICTIMS[(place + number + seed) % len(_VICTIMS)],
                    round(chance.uniform(0.05, 0.6), 2),
                )
                for place, gap in enumerate(GAPS[: kills - number * len(GAPS)])
            )
            sessions[f"session-{number + 1}"] = strikes
        return cls(sessions)
