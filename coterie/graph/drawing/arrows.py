"""Routes as lines between shapes: through their chips, to teams and to ends."""

from collections.abc import Iterator

from coterie.graph.drawing.boxes import ChipFigure
from coterie.graph.drawing.layout import Connector
from coterie.graph.picture import START, Picture, RouteArrow

_CHIPS = ("rule", "call", "silence", "redirect")
"""Routes that say on their way when they are taken."""

WayBack = tuple[str, str]


START_SHAPE = "start"


def team_shape(team: str) -> str:
    """The id of a team's box in the layout, or of the run's beginning."""
    return f"team {team}" if team != START else START_SHAPE


class Arrow:
    """One route, and the lines that it is drawn with."""

    def __init__(self, index: int, route: RouteArrow) -> None:
        self.route = route
        self.chip = ChipFigure(route) if route.kind in _CHIPS else None
        self.via = f"chip {index}"
        self.end = "" if route.targets else f"end {route.team} {route.ending}"
        """The id of the shape where the run ends; each team has one of its own."""
        self.has_shape = self.chip is not None and route.targets != (route.team,)
        """The chip stands on the arrow; on a way back to the same team it stands beside it."""
        self._index = index

    def lines(self, back: frozenset[WayBack]) -> tuple[Connector, ...]:
        """The lines, in the direction in which a run goes; the last ones have heads."""
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


def ways_back(picture: Picture) -> frozenset[WayBack]:
    """The ways that lead back to where a run has come from: without them nothing goes round."""
    following: dict[str, list[str]] = {box.id: [] for box in picture.boxes}
    for route in picture.routes:
        following.setdefault(route.team, [])
        following[route.team] += route.targets
    back: set[WayBack] = set()
    seen: set[str] = set()
    for begin in (picture.entry, *following):
        if begin not in seen:
            back |= set(_back_from(begin, following, seen))
    return frozenset(back)


def _back_from(begin: str, following: dict[str, list[str]], seen: set[str]) -> Iterator[WayBack]:
    """Depth first, without recursion: a chain of teams may be long."""
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
