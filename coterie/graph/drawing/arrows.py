"""Draw routes as lines between shapes: through their labels, to teams and to ends."""

from collections.abc import Iterator

from coterie.graph.drawing.boxes import ChipFigure
from coterie.graph.drawing.layout import Connector
from coterie.graph.picture import START, Picture, RouteArrow

_CHIPS = ("rule", "call", "timeout", "bound", "redirect")
"""Kinds of routes with a label that shows when they are taken."""

BackEdge = tuple[str, str]


START_SHAPE = "start"


def team_shape(team: str) -> str:
    """Return the layout id of a team's box, or of the run's start."""
    return f"team {team}" if team != START else START_SHAPE


class Arrow:
    """One route, and its lines."""

    def __init__(self, index: int, route: RouteArrow) -> None:
        self.route = route
        self.chip = ChipFigure(route) if route.kind in _CHIPS else None
        self.via = f"chip {index}"
        self.end = "" if route.targets else f"end {route.team} {route.ending}"
        """The id of the shape where the run ends; each team has one of its own."""
        self.has_shape = self.chip is not None and route.targets != (route.team,)
        """Whether the label is on the arrow; for a self-loop it is beside it."""
        self._index = index

    def lines(self, back: frozenset[BackEdge]) -> tuple[Connector, ...]:
        """Return the lines in the direction of the run; the last ones have heads."""
        ends = [team_shape(team) for team in self.route.targets] or [self.end]
        tail = team_shape(self.route.team)
        turned = {
            team_shape(team) for team in self.route.targets if (self.route.team, team) in back
        }
        if self.chip is not None and not self.has_shape:
            return (Connector(self.via, tail, tail, label=(self.chip.width + 8, self.chip.height)),)
        if self.chip is None:
            return tuple(
                Connector(f"{self._index}", tail, end, backwards=end in turned and end != tail)
                for end in ends
            )
        up = ends == [*turned]
        first = Connector(
            f"{self._index} in",
            tail,
            self.via,
            head_port="s" if up else "n",
            backwards=up,
            arrow=False,
            weight=2,
        )
        rest = (
            Connector(
                f"{self._index} out {end}",
                self.via,
                end,
                tail_port="n" if up else "s" if len(ends) == 1 else "",
                backwards=end in turned,
                weight=2,
            )
            for end in ends
        )
        return first, *rest


def back_edges(picture: Picture) -> frozenset[BackEdge]:
    """Return the routes that lead back to an earlier team; without them the graph has no cycles."""
    following: dict[str, list[str]] = {box.id: [] for box in picture.boxes}
    for route in picture.routes:
        following.setdefault(route.team, [])
        following[route.team] += route.targets
    back: set[BackEdge] = set()
    seen: set[str] = set()
    for begin in (picture.entry, *following):
        if begin not in seen:
            back |= set(_back_from(begin, following, seen))
    return frozenset(back)


def _back_from(begin: str, following: dict[str, list[str]], seen: set[str]) -> Iterator[BackEdge]:
    """Search depth-first without recursion, because chains of teams may be long."""
    seen.add(begin)
    open_here = {begin: None}
    stack = [(begin, iter(following[begin]))]
    while stack:
        team, rest = stack[-1]
        target = next(rest, None)
        if target is None:
            stack.pop()
            del open_here[team]
        elif target in open_here:
            yield team, target
        elif target not in seen:
            seen.add(target)
            open_here[target] = None
            stack.append((target, iter(following[target])))
