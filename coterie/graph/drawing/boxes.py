"""Size and draw a team's box and a route's label."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from coterie.graph.drawing.layout import Point
from coterie.graph.drawing.measure import widest, width, wrapped
from coterie.graph.drawing.pen import Pen, pill_width
from coterie.graph.drawing.style import MARKS, SIGNS
from coterie.graph.picture import RouteArrow, TeamBox
from coterie.graph.taken_path import Mark
from coterie.graph.tasks import TaskLine

_PAD = 14
_MAX_WIDTH = 320
_MIN_WIDTH = 172
_INDENT = 16
_SIGN = 24
"""Width of a task's icon."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A task with its texts broken into lines."""

    task: TaskLine
    names: list[str]
    details: list[str]

    @property
    def left(self) -> float:
        return self.task.depth * _INDENT + (_SIGN if self.task.kind else 0)

    @property
    def height(self) -> float:
        if self.task.kind is None:
            return 15 * len(self.names) + 5
        return 17 * len(self.names) + 14.5 * len(self.details) + 9

    @property
    def width(self) -> float:
        kind = width(self.task.kind or "", 10.5) + 14
        size = 13 if self.task.kind else 11.5
        names = widest(self.names, size, bold=bool(self.task.kind)) + kind
        return self.left + max(names, widest(self.details, 11.5))


class BoxFigure:
    """The box of one team."""

    def __init__(self, box: TeamBox, *, marked: bool = False) -> None:
        self.box = box
        self._mark = 18 if marked else 0
        """Width of the task status marks."""
        self._type = "" if box.type == "standard" else box.type
        type_room = width(self._type, 10.5, bold=True) + 20 if self._type else 0
        self._title = wrapped(box.name, _MAX_WIDTH - type_room, 15, lines=2, bold=True)
        subtitle = " · ".join((box.id, *box.limits))
        self._under = wrapped(subtitle, _MAX_WIDTH, 11.5, lines=3)
        self._rows = [_row(task) for task in box.tasks]
        inside = max(
            widest(self._title, 15, bold=True) + type_room,
            widest(self._under, 11.5),
            *(row.width + self._mark for row in self._rows),
            _MIN_WIDTH,
        )
        self.width = inside + 2 * _PAD
        self._head = 11 + 19 * len(self._title) + 15 * len(self._under) + 7
        self.height = self._head + (sum(row.height for row in self._rows) + 10 if box.tasks else 0)

    def draw(self, pen: Pen, centre: Point, marks: Mapping[str, Mark], css: str) -> None:
        """Draw the box.

        Args:
            pen: Draws.
            centre: Centre of the box.
            marks: Status of its tasks by path, in the run shown.
            css: Further classes of its frame.
        """
        left, top = centre.x - self.width / 2, centre.y - self.height / 2
        pen.rect(left, top, self.width, self.height, 9, f"box {css}".strip())
        y = top + 11
        for line in self._title:
            pen.text(left + _PAD, y + 14, line, 15, "ink", bold=True)
            y += 19
        for line in self._under:
            pen.text(left + _PAD, y + 11.5, line, 11.5, "soft")
            y += 15
        if self._type:
            half = pill_width(self._type, 10.5) / 2
            pen.pill(Point(left + self.width - _PAD - half + 4, top + 20), self._type, "type", 10.5)
        if not self._rows:
            return
        y = top + self._head
        pen.path(f"M{left + 1:.1f},{y:.1f}h{self.width - 2:.1f}", "rule-line")
        y += 5
        for row in self._rows:
            self._draw_row(pen, row, left, y, marks.get(row.task.path))
            y += row.height

    def _draw_row(self, pen: Pen, row: _Row, left: float, top: float, mark: Mark | None) -> None:
        task = row.task
        x = left + _PAD + task.depth * _INDENT
        asks = task.kind == "approval" or bool(task.approval)
        if asks:
            wide = self.width - _PAD - task.depth * _INDENT
            pen.rect(x - 7, top + 1, wide, row.height - 2, 6, "asks")
        if task.kind is None:
            for index, line in enumerate(row.names):
                pen.text(x, top + 13 + 15 * index, line, 11.5, "soft")
            return
        tone = " person" if asks else "" if task.kind == "agent" else " plain"
        pen.path(SIGNS[task.kind], f"sign{tone}", Point(x, top + 5))
        x += _SIGN
        y = top + 4
        for line in row.names:
            pen.text(x, y + 13, line, 13, "ink", bold=True)
            y += 17
        for line in row.details:
            pen.text(x, y + 10.5, line, 11.5, "soft")
            y += 14.5
        right = left + self.width - _PAD
        pen.text(right - self._mark, top + 17, task.kind, 10.5, "soft", anchor="end")
        if mark is not None:
            pen.path(MARKS[mark], f"mark {mark}", Point(right - 5, top + 13.5))


def _row(task: TaskLine) -> _Row:
    left = task.depth * _INDENT + (_SIGN if task.kind else 0)
    kind = width(task.kind or "", 10.5) + 14
    size = 13 if task.kind else 11.5
    names = wrapped(task.name, _MAX_WIDTH - left - kind, size, lines=2, bold=bool(task.kind))
    details = [*task.detail, task.approval] if task.approval else [*task.detail]
    lines = list(_join_details(details, _MAX_WIDTH - left))
    return _Row(task, names, lines)


def _join_details(details: list[str], maximum: float) -> Iterator[str]:
    """Join the details with dots, as many per line as fit."""
    line = ""
    for detail in details:
        if line and width(f"{line} · {detail}", 11.5) > maximum:
            yield line
            line = ""
        line = f"{line} · {detail}" if line else detail
        if width(line, 11.5) > maximum:
            *full, line = wrapped(line, maximum, 11.5, lines=3)
            yield from full
    if line:
        yield line


class ChipFigure:
    """The label of a route, on its arrow."""

    def __init__(self, route: RouteArrow) -> None:
        self.route = route
        self._lines = list(_chip_lines(route))
        self._left = 29 if route.number is not None else 12
        self.width = self._left + widest(self._lines, 11.5) + 12
        self.height = 15 * len(self._lines) + 10

    def draw(self, pen: Pen, centre: Point, css: str) -> None:
        """Draw the label."""
        left, top = centre.x - self.width / 2, centre.y - self.height / 2
        radius = min(self.height / 2, 12.5)
        pen.rect(left, top, self.width, self.height, radius, f"chip {css}".strip())
        if self.route.number is not None:
            at = Point(left + 15, centre.y)
            pen.circle(at, 8.5, "number")
            pen.text(at.x, at.y + 4, str(self.route.number), 11, "ink", bold=True, anchor="middle")
        for index, line in enumerate(self._lines):
            pen.text(left + self._left, top + 16 + 15 * index, line, 11.5, "ink")


def _chip_lines(route: RouteArrow) -> Iterator[str]:
    for index, part in enumerate(route.words):
        yield from wrapped(f"and {part}" if index else part, 256, 11.5, lines=2)
    if len(route.targets) > 1:
        met = f", meet at {route.meets}" if route.meets else ""
        yield from wrapped(f"all at once{met}", 256, 11.5, lines=2)
