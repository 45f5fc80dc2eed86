"""Strongly connected components of a graph."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

Point = TypeVar("Point")


def components(
    points: Iterable[Point], beside: Callable[[Point], Iterable[Point]]
) -> list[tuple[Point, ...]]:
    """Return the components, each after every component that it leads to.

    Args:
        points: All points of the graph, hashable.
        beside: The successors of each point; all of them in `points`.
    """
    return _Search(beside).all(points)


class _Search(Generic[Point]):
    """Tarjan's search, without recursion: a graph may be one long line."""

    def __init__(self, beside: Callable[[Point], Iterable[Point]]) -> None:
        self.beside = beside
        self.number: dict[Point, int] = {}
        self.lowest: dict[Point, int] = {}
        self.open: dict[Point, None] = {}
        self.found: list[tuple[Point, ...]] = []

    def all(self, points: Iterable[Point]) -> list[tuple[Point, ...]]:
        for point in points:
            if point not in self.number:
                self._from(point)
        return self.found

    def _from(self, start: Point) -> None:
        ahead = [(start, iter(self._enter(start)))]
        while ahead:
            point, others = ahead[-1]
            other = next(others, None)
            if other is None:
                ahead.pop()
                self._leave(point)
                if ahead:
                    above = ahead[-1][0]
                    self.lowest[above] = min(self.lowest[above], self.lowest[point])
            elif other not in self.number:
                ahead.append((other, iter(self._enter(other))))
            elif other in self.open:
                self.lowest[point] = min(self.lowest[point], self.number[other])

    def _enter(self, point: Point) -> list[Point]:
        self.number[point] = self.lowest[point] = len(self.number)
        self.open[point] = None
        return list(self.beside(point))

    def _leave(self, point: Point) -> None:
        if self.lowest[point] != self.number[point]:
            return
        members: list[Point] = []
        while not members or members[-1] != point:
            members.append(self.open.popitem()[0])
        self.found.append(tuple(reversed(members)))


def is_cycle(members: Sequence[Point], beside: Callable[[Point], Iterable[Point]]) -> bool:
    """Return whether a component is a cycle: several points, or one that leads to itself."""
    return len(members) > 1 or members[0] in set(beside(members[0]))
