"""Explain the signs of a picture; only those that occur in it."""

from collections.abc import Callable, Iterator

from coterie.graph.drawing.layout import Point
from coterie.graph.drawing.measure import width
from coterie.graph.drawing.pen import Pen
from coterie.graph.drawing.style import MARKS
from coterie.graph.picture import Picture, RouteKind
from coterie.graph.taken_path import Walk

_SIZE = 11.5
_SIGN = 34
_GAP = 26
_LINE = 28

Sign = Callable[[Pen, Point], None]


class Legend:
    """The legend of one picture, in lines of limited width in pixels."""

    def __init__(self, picture: Picture, walk: Walk | None, maximum: float) -> None:
        self._offsets: list[tuple[Sign, str, Point]] = []
        x, line = 0.0, 0
        for sign, label in _entries(picture, walk):
            wide = _SIGN + width(label, _SIZE)
            if x and x + wide > maximum:
                x, line = 0.0, line + 1
            self._offsets.append((sign, label, Point(x, _LINE * line)))
            x += wide + _GAP
        self.height = _LINE * (line + 1)

    def draw(self, pen: Pen, at: Point) -> None:
        """Draw it; `at` is the left end of its first line, at half its height."""
        group = pen.group("legend")
        for sign, label, offset in self._offsets:
            here = Point(at.x + offset.x, at.y + offset.y)
            sign(group, here)
            group.text(here.x + _SIGN, here.y + 4, label, _SIZE, "soft")


_LINES: dict[RouteKind, str] = {
    "default": "otherwise",
    "timeout": "nobody decides in time",
    "bound": "instead, after so many visits",
    "redirect": "redirected: not in the plan",
    "call": "runs as a step",
}
"""How each kind of dashed line reads."""


def _entries(picture: Picture, walk: Walk | None) -> Iterator[tuple[Sign, str]]:
    kinds = {route.kind for route in picture.routes}
    endings = {route.ending for route in picture.routes}
    if "rule" in kinds:
        yield _rule, "rule: the first that holds"
    yield from ((_line(kind), words) for kind, words in _LINES.items() if kind in kinds)
    if any(task.kind == "approval" or task.approval for box in picture.boxes for task in box.tasks):
        yield _person, "a person decides"
    if "success" in endings:
        yield _end, "the run ends"
    if "failure" in endings:
        yield _draw_failed_end, "the run fails"
    if walk is not None:
        yield _draw_taken_route, "taken, in this order"


def _line(css: str) -> Sign:
    def sign(pen: Pen, at: Point) -> None:
        pen.path(f"M{at.x:.1f},{at.y:.1f}h26", f"edge {css}")

    return sign


def _rule(pen: Pen, at: Point) -> None:
    _line("rule")(pen, at)
    centre = Point(at.x + 13, at.y)
    pen.circle(centre, 8, "number")
    pen.text(centre.x, centre.y + 4, "1", 11, "ink", bold=True, anchor="middle")


def _person(pen: Pen, at: Point) -> None:
    pen.rect(at.x + 2, at.y - 8, 24, 16, 5, "asks")


def _end(pen: Pen, at: Point) -> None:
    pen.circle(Point(at.x + 17, at.y), 8, "end")
    pen.circle(Point(at.x + 17, at.y), 4, "end-core")


def _draw_failed_end(pen: Pen, at: Point) -> None:
    pen.circle(Point(at.x + 17, at.y), 8, "failed-end")
    pen.path(MARKS["failure"], "failed-end", Point(at.x + 17, at.y))


def _draw_taken_route(pen: Pen, at: Point) -> None:
    pen.path(f"M{at.x:.1f},{at.y:.1f}h26", "taken")
    pen.pill(Point(at.x + 13, at.y), "1", "done")
