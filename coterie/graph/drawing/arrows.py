"""Describe routes as edges between nodes: through their labels, to teams and to ends."""

from collections.abc import Iterator
from typing import NamedTuple

from coterie.graph.picture import START, Picture, RouteArrow

_LABELLED = ("rule", "call", "timeout", "bound", "redirect")
"""Kinds of routes with a label that shows when they are taken."""

BackEdge = tuple[str, str]


class Edge(NamedTuple):
    """An edge in the direction of the layout, with its attributes for Graphviz."""

    tail: str
    head: str
    attributes: dict[str, str]


def team_node(team: str) -> str:
    """Return the node of a team's box, or of the run's start."""
    return f"team {team}" if team != START else "start"


def end_node(route: RouteArrow) -> str:
    """Return the node where the run ends; each team has one of its own."""
    return f"end {route.team} {route.ending}"


def is_labelled(route: RouteArrow) -> bool:
    """Return whether a label shows when the route is taken."""
    return route.kind in _LABELLED


def is_through_label(route: RouteArrow) -> bool:
    """Return whether the label is a node on the arrow; for a self-loop it is beside it."""
    return is_labelled(route) and route.targets != (route.team,)


def edges(route: RouteArrow, label: str, back: frozenset[BackEdge]) -> Iterator[Edge]:
    """Yield the edges of a route, by way of its label's node if it has one; the last have heads."""
    tail = team_node(route.team)
    ends = {team_node(team): (route.team, team) in back for team in route.targets}
    ends = ends or {end_node(route): False}
    if not is_through_label(route):
        for end, turned in ends.items():
            yield _edge(tail, end, turned=turned and end != tail)
        return
    up = all(ends.values())
    into, out = ("s", "n") if up else ("n", "s")
    yield _edge(tail, label, turned=up, head="none", headport=into, weight="2")
    for end, turned in ends.items():
        port = {"tailport": out} if up or len(ends) == 1 else {}
        yield _edge(label, end, turned=turned, weight="2", **port)


def _edge(tail: str, end: str, *, turned: bool, head: str = "normal", **more: str) -> Edge:
    """Return an edge; one that points upwards is laid out reversed."""
    if not turned:
        return Edge(tail, end, {"arrowhead": head, **more})
    other = {"tailport": "headport", "headport": "tailport"}
    given = {other.get(key, key): value for key, value in more.items()}
    return Edge(end, tail, {"dir": "back", "arrowtail": head, **given})


def back_edges(picture: Picture) -> frozenset[BackEdge]:
    """Return the routes that lead back to an earlier team; without them the graph has no cycles."""
    following: dict[str, list[str]] = {picture.entry: []}
    for route in picture.routes:
        following.setdefault(route.team, []).extend(route.targets)
    back: set[BackEdge] = set()
    seen: set[str] = set()
    path: set[str] = set()
    stack = [(team, False) for team in reversed(following)]
    while stack:
        team, is_done = stack.pop()
        if is_done:
            path.remove(team)
        elif team not in seen:
            seen.add(team)
            path.add(team)
            targets = following.get(team, [])
            back.update((team, target) for target in targets if target in path)
            stack.append((team, True))
            stack += ((target, False) for target in reversed(targets))
    return frozenset(back)
