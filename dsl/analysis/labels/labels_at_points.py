"""What a run may have met at one point: sets of labels, each with the calls that brought them."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from coterie.dsl.model.capabilities import KeptLabel

Met = frozenset[KeptLabel]


class Source(NamedTuple):
    """A call whose result brought a label."""

    label: KeptLabel
    step: str
    """`team/step`."""
    tool: str


Trace = tuple[Source, ...]
Points = Mapping[Met, Trace]
"""`{labels that some way has met here: the calls that brought them}`; empty where no way leads."""

NOTHING: Points = {}
FRESH: Points = {frozenset(): ()}
"""A run that has met nothing yet."""


class PointsByEnd(NamedTuple):
    """How steps may end, and what has been met then."""

    done: Points = NOTHING
    failed: Points = NOTHING
    returned: Points = NOTHING
    """Ended by a `return` step."""


def union(*several: Points) -> Points:
    """Merge points; of equal ones, keep the first trace."""
    traces: dict[Met, Trace] = {}
    for points in several:
        for met, trace in points.items():
            traces.setdefault(met, trace)
    return traces


def bringing(points: Points, sources: Iterable[Source]) -> Points:
    """Return the points after a call that brings all these labels."""
    brought = tuple(sources)
    traces: dict[Met, Trace] = {}
    for met, trace in points.items():
        new = tuple(source for source in brought if source.label not in met)
        labels: Met = frozenset(source.label for source in new)
        traces.setdefault(met | labels, (*trace, *new))
    return traces


def possibly(points: Points, sources: Iterable[Source]) -> Points:
    """Return the points to which each of these labels may have come at any time."""
    for source in sources:
        points = union(points, bringing(points, (source,)))
    return points
