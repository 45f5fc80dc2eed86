"""Which payments are interrupted, and where: made by the seed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from tests.chaos.effect_runs.bank import POINTS, Point

Kind = Literal["verified", "refused", "asked", "keyed", "giving up", "careless"]
"""What a run does about an interrupted payment: asks the bank; the same, after the bank has refused
it once; asks a person; repeats it with its key; nothing, though it has a key; nothing."""
TEAMS: dict[Kind, str] = {
    "verified": "careful",
    "refused": "careful",
    "asked": "careful",
    "keyed": "keyed",
    "giving up": "giving_up",
    "careless": "careless",
}
SETTLED: tuple[Kind, ...] = ("verified", "refused", "asked", "keyed")
"""Runs that end with one payment, whatever happens."""
_TWICE = 0.3
"""Which part of the runs that pay after all is interrupted once more."""


@dataclass(frozen=True, slots=True)
class EffectRun:
    """One run, with one payment."""

    order: str
    """Also its id."""
    kind: Kind
    points: tuple[Point, ...]
    """Where it is interrupted: at the first one with the others of its round, then at once."""


def effect_runs(seed: int, number: int, points: Sequence[Point] = POINTS) -> Sequence[EffectRun]:
    """Return so many runs, which have each kind and each point about equally often."""
    chance = random.Random(seed)
    every: Sequence[tuple[Kind, Point]] = tuple(product(TEAMS, points))
    pairs: list[tuple[Kind, Point]] = []
    while len(pairs) < number:
        pairs += chance.sample(every, len(every))
    return [
        EffectRun(f"p{at:04}", kind, (point, *_again(kind, point, points, chance)))
        for at, (kind, point) in enumerate(pairs[:number], 1)
    ]


def _again(
    kind: Kind, first: Point, points: Sequence[Point], chance: random.Random
) -> tuple[Point, ...]:
    """Return where a run that was interrupted is interrupted once more, if it is."""
    again = chance.random() < _TWICE and first != "recorded"
    if not again or kind not in SETTLED:
        return ()
    if kind == "keyed":
        return (chance.choice([point for point in points if point != "recorded"]),)
    return ("recorded",) if kind == "asked" else ("verifying",)
