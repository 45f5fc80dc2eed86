"""Reminders: what a model learns beside the results of its calls, as facts."""

from dataclasses import dataclass
from typing import Literal

from coterie.dsl.tool_loop.tool_loop_progress import UnmetPolicy


@dataclass(frozen=True, slots=True)
class CallsRepeated:
    """A reminder: the same call gives the same result again and again."""

    code: Literal["calls_repeated"]
    tool: str
    times: int


@dataclass(frozen=True, slots=True)
class CallsMissing:
    """A reminder: the answer came before calls that the policy demands."""

    code: Literal["calls_missing"]
    unmet: tuple[UnmetPolicy, ...]


@dataclass(frozen=True, slots=True)
class LastTurn:
    """A reminder: no turns are left, so the model must answer now."""

    code: Literal["last_turn"]


Reminder = CallsRepeated | CallsMissing | LastTurn
"""What the model learns at the end of its next message, beside the results."""
