"""Cycles: which dependencies close one, found by one iterative depth-first search."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

_NEW, _OPEN, _DONE = 0, 1, 2


class _Node(NamedTuple):
    number: int
    rest: Iterator[int]


def closing_edges(edges: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Return dependencies without which there is no cycle; each of them is part of one.

    The walk begins at the last task, so that of `a` and `b`, which depend on each other, `a` loses
    its dependency and runs first.

    Args:
        edges: `edges[i]` are the tasks that task i depends on.

    Returns:
        Pairs `(task, dependency)`.
    """
    marks = [_NEW] * len(edges)
    closing: list[tuple[int, int]] = []
    for start in reversed(range(len(edges))):
        if marks[start] != _NEW:
            continue
        marks[start] = _OPEN
        path = [_Node(start, reversed(edges[start]))]
        while path:
            node = path[-1]
            following = next(node.rest, None)
            if following is None:
                marks[node.number] = _DONE
                path.pop()
            elif marks[following] == _OPEN:
                closing.append((node.number, following))
            elif marks[following] == _NEW:
                marks[following] = _OPEN
                path.append(_Node(following, reversed(edges[following])))
    return closing
