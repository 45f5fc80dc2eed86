"""Draw the tasks of a task graph below the teams: a tree with the status of each task and why."""

from dataclasses import dataclass

from coterie.dsl.task_graph.graph_tasks import GraphTaskStatus
from coterie.graph.drawing.layout import Point
from coterie.graph.drawing.measure import cut, width, wrapped
from coterie.graph.drawing.pen import Pen, pill_width
from coterie.graph.drawing.style import MARKS
from coterie.graph.taken_path import Mark
from coterie.graph.task_trees import TaskTree, TreeRow

_PAD = 14
_HEAD = 40
_INDENT = 22
_MAX_DEPTH = 8
"""Levels that are indented; deeper ones stand below each other."""
_MARK = 20
_LINE = 15
_GAP = 9

TASK_SIGNS: dict[GraphTaskStatus, Mark] = {
    "completed": "success",
    "in_progress": "doing",
    "pending": "pending",
    "failed": "failure",
    "blocked": "blocked",
    "skipped": "skipped",
}
"""The mark of each status of a task."""


@dataclass(frozen=True, slots=True)
class _Row:
    row: TreeRow
    lines: list[str]
    height: float

    @property
    def indent(self) -> float:
        return min(self.row.depth, _MAX_DEPTH) * _INDENT


class TreePanel:
    """The panel of one task graph, of a given width."""

    def __init__(self, tree: TaskTree, wide: float) -> None:
        self._tree = tree
        self._wide = wide
        self._rows = [_measure_row(row, wide) for row in tree.rows()]
        self.height = _HEAD + sum(row.height for row in self._rows) + _PAD

    def draw(self, pen: Pen, at: Point) -> None:
        """Draw it; `at` is its upper left corner."""
        group = pen.group("tasks", f"tasks of {self._tree.step}")
        group.rect(at.x, at.y, self._wide, self.height, 8, "box")
        title = cut(self._tree.headline, self._wide - 2 * _PAD, 13, bold=True)
        group.text(at.x + _PAD, at.y + 25, title, 13, "ink", bold=True)
        y = at.y + _HEAD
        tops: dict[str, float] = {}
        for row in self._rows:
            parent = tops.get(row.row.parent or "")
            if parent is not None and row.row.depth <= _MAX_DEPTH:
                x = at.x + _PAD + row.indent - _INDENT + 6
                group.path(f"M{x:.1f},{parent + 16:.1f}V{y + 8:.1f}h{_INDENT - 10}", "tree-line")
            self._draw(group, row, at.x + _PAD + row.indent, y)
            tops[row.row.node.id] = y
            y += row.height

    def _draw(self, pen: Pen, row: _Row, x: float, y: float) -> None:
        node = row.row.node
        group = pen.group(f"task {node.status}", f"{node.id}: {node.because}")
        sign = TASK_SIGNS[node.status]
        group.path(MARKS[sign], f"mark {sign}", Point(x + 6, y + 8))
        state = node.status.replace("_", " ")
        wide = self._wide - 2 * _PAD - row.indent - _MARK - pill_width(state) - 12
        name = cut(node.id, wide, 13, bold=True)
        group.text(x + _MARK, y + 12.5, name, 13, "ink", bold=True)
        end = x + _MARK + width(name, 13, bold=True) + 10 + pill_width(state) / 2
        group.pill(Point(end, y + 8), state, "type")
        for number, line in enumerate(row.lines, 1):
            group.text(x + _MARK, y + 12.5 + _LINE * number, line, 11.5, "soft")


def _measure_row(row: TreeRow, wide: float) -> _Row:
    also = f"; also after {', '.join(row.also_after)}" if row.also_after else ""
    room = wide - 2 * _PAD - min(row.depth, _MAX_DEPTH) * _INDENT - _MARK
    lines = wrapped(f"{row.node.because}{also}", room, 11.5, lines=2)
    return _Row(row, lines, 16 + _LINE * len(lines) + _GAP)
