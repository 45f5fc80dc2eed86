"""Strategies of parallel steps: which branches run, how they join, which one wins. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal, get_args

from pydantic import JsonValue

from coterie.dsl.errors import nearest
from coterie.dsl.model.step_kinds.join_policies import JoinWord

Join = JoinWord | int
JOIN_WORDS: tuple[JoinWord, ...] = get_args(JoinWord)

RESULT_KEYS = ("winner", "result")
"""What the data of a step with a winner has beside its branches."""


@dataclass(frozen=True, slots=True)
class RefusedStrategy:
    """Why a value is not a strategy of the step: the type of failure, and its message."""

    type: Literal["UnknownBranch", "NotAJoin", "NotANumber"]
    message: str


@dataclass(frozen=True, slots=True)
class BranchResult:
    """The result of one branch."""

    name: str
    success: bool
    priority: int = 0
    """The higher wins."""
    score: float | None = None
    """The higher wins; none is below every score."""
    seconds: float = 0.0
    """The fewer win."""


def ranked(results: Sequence[BranchResult]) -> list[BranchResult]:
    """Sort the results of `join: best`, the winner first.

    Success comes first, then the higher priority, the higher score, the fewer seconds; what is
    equal in all of them keeps the order in which it is given: the written one.
    """
    return sorted(results, key=_rank)


def _rank(result: BranchResult) -> tuple[bool, int, float, float]:
    score = -inf if result.score is None else result.score
    return (not result.success, -result.priority, -score, result.seconds)


def chosen_branches(
    step: str, only: JsonValue, branches: Sequence[str]
) -> list[str] | RefusedStrategy:
    """Return the branches that `only` names, in written order; or why it names none."""
    names = ", ".join(branches)
    if not isinstance(only, list) or not only:
        kind = "an empty list" if only == [] else type(only).__name__
        message = f"`only` of {step!r} gives {kind}, not a list of its branches: {names}"
        return RefusedStrategy("UnknownBranch", message)
    for name in only:
        if name not in branches:
            hint = nearest(str(name), branches)
            message = f"`only` of {step!r} names {name!r}; branches: {names}. {hint}".rstrip(". ")
            return RefusedStrategy("UnknownBranch", message)
    return [name for name in branches if name in only]


def chosen_join(step: str, value: JsonValue, branches: Collection[str]) -> Join | RefusedStrategy:
    """Return how the branches join; or why the value says nothing of that kind."""
    maximum = len(branches)
    for word in JOIN_WORDS:
        if value == word:
            return word
    if isinstance(value, int) and not isinstance(value, bool):
        if 1 <= value <= maximum:
            return value
        message = f"`join` of {step!r} needs {value} successes, and {maximum} branches run"
        return RefusedStrategy("NotAJoin", message)
    allowed = f"{', '.join(JOIN_WORDS)}, or a number up to {maximum}"
    return RefusedStrategy("NotAJoin", f"`join` of {step!r} gives {value!r}, not one of {allowed}")


def chosen_score(branch: str, value: JsonValue) -> float | RefusedStrategy:
    """Return the score of a branch; or why the value is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return RefusedStrategy("NotANumber", f"the score of the branch {branch!r} is {value!r}")
    return value


def is_enough(join: Join, good: int, ended: int, branches: int) -> bool:
    """Return whether no further branch needs to end.

    Args:
        join: How the branches join.
        good: The number of branches that succeeded.
        ended: The number of branches that ended.
        branches: The number of branches that run.
    """
    if ended >= branches:
        return True
    match join:
        case "all" | "best":
            return False
        case "any" | "fallback":
            return good >= 1
        case int():
            return good >= join


def winner_of(join: Join, results: Sequence[BranchResult], ends: Sequence[str]) -> str | None:
    """Return the branch that wins; None if all of them count, or none succeeded.

    Args:
        join: How the branches join.
        results: What the branches came to, in written order.
        ends: The names of the branches in the order of their ends.
    """
    good = {result.name for result in results if result.success}
    match join:
        case "all":
            return None
        case "best":
            first = next(iter(ranked(results)), None)
            return first.name if first and first.success else None
        case _:
            return next((name for name in ends if name in good), None)
