"""Draw what stands around the teams: heading, task trees and legend."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from coterie.dsl.task_graph.graph_tasks import GraphTaskStatus
from coterie.graph.drawing.cells import (
    core,
    grouped,
    line_height,
    moved,
    paragraph,
    pill,
    pill_width,
    shape,
    sign,
    text,
)
from coterie.graph.drawing.measure import cut, width, wrapped
from coterie.graph.drawing.style import MARKS
from coterie.graph.picture import Picture, RouteKind
from coterie.graph.taken_path import Mark, Walk
from coterie.graph.task_trees import TaskTree, TreeRow

_PAD = 14
_INDENT = 22
_MAX_DEPTH = 8
"""Levels that are indented; deeper ones stand below each other."""
_MARK = 20
_SIGN = 28
"""Height of a line of the legend."""

TASK_SIGNS: dict[GraphTaskStatus, Mark] = {
    "completed": "success",
    "in_progress": "doing",
    "pending": "pending",
    "failed": "failure",
    "blocked": "blocked",
    "skipped": "skipped",
}
"""The mark of each status of a task."""

_LINES: dict[RouteKind, str] = {
    "default": "otherwise",
    "timeout": "nobody decides in time",
    "bound": "instead, after so many visits",
    "redirect": "redirected: not in the plan",
    "call": "runs as a step",
}
"""How each kind of dashed line reads."""


def heading(picture: Picture, walk: Walk | None, wide: float) -> tuple[float, list[Element]]:
    """Return the height of the picture's heading, and the heading."""
    lines = []
    if walk is not None:
        lines = wrapped(f"{walk.run}: {walk.headline}", wide, "headline", lines=4)
    under = 34 + len(lines) * line_height("headline")
    limits = " · ".join((*picture.limits, f"digest {picture.digest}"))
    return under + 22, [
        *paragraph(0, 0, [cut(picture.name, wide, "heading")], "heading"),
        *paragraph(0, 32, lines, "headline"),
        *paragraph(0, under, [cut(limits, wide, "limits")], "limits"),
    ]


def below(picture: Picture, walk: Walk | None, wide: float) -> tuple[float, list[Element]]:
    """Return the height of the task trees of a run and of the legend, and both."""
    ink: list[Element] = []
    x, y = 0.0, 0.0
    for tree in () if walk is None else walk.trees:
        high, panel = _panel(tree, wide)
        ink.append(moved(0, y, panel))
        y += high + 16
    signs: list[Element] = []
    for shown, words in _legend(picture, walk):
        room = 34 + width(words, "soft")
        if x and x + room > wide:
            x, y = 0.0, y + _SIGN
        signs.append(moved(round(x, 1), y, shown, text(34, 18, words, "soft")))
        x += room + 26
    return y + _SIGN, [*ink, grouped("legend", *signs)]


def _panel(tree: TaskTree, wide: float) -> tuple[float, Element]:
    title = cut(tree.headline, wide - 2 * _PAD, "task-name")
    ink = [*paragraph(_PAD, 10, [title], "task-name")]
    y = 38.0
    tops: dict[str, float] = {}
    for each in tree.rows():
        left = _PAD + min(each.depth, _MAX_DEPTH) * _INDENT
        parent = tops.get(each.parent or "")
        if parent is not None and each.depth <= _MAX_DEPTH:
            data = f"M{left - _INDENT + 6},{parent + 17:g}V{y + 8:g}h{_INDENT - 10}"
            ink.append(shape("path", "tree-line", d=data))
        high, about = _tree_row(each, wide - _PAD - left)
        ink.append(moved(left, y, about))
        tops[each.node.id] = y
        y += high
    frame = shape("rect", "panel", width=wide, height=y + 8, rx=8)
    return y + 8, grouped("tasks", frame, *ink, title=f"tasks of {tree.step}")


def _tree_row(each: TreeRow, wide: float) -> tuple[float, Element]:
    """Return the height of a task's lines, and the lines."""
    node = each.node
    also = f"; also after {', '.join(each.also_after)}" if each.also_after else ""
    lines = wrapped(f"{node.because}{also}", wide - _MARK, "soft", lines=2)
    mark = TASK_SIGNS[node.status]
    state = node.status.replace("_", " ")
    name = cut(node.id, wide - _MARK - pill_width(state) - 12, "task-name")
    ink = (
        sign(MARKS[mark], f"mark {mark}", 6, 8),
        text(_MARK, 12.5, name, "task-name"),
        moved(_MARK + width(name, "task-name") + 8, -1, *pill(state, "type")),
        *paragraph(_MARK, 18, lines, "soft"),
    )
    high = 27 + len(lines) * line_height("soft")
    return high, grouped(f"task {node.status}", *ink, title=f"{node.id}: {node.because}")


def _legend(picture: Picture, walk: Walk | None) -> Iterator[tuple[Element, str]]:
    """Explain the signs of the picture; only those that occur in it."""
    kinds = {route.kind for route in picture.routes}
    endings = {route.ending for route in picture.routes}
    if "rule" in kinds:
        circle = shape("circle", "number", cx=13, cy=14, r=8)
        yield _line("", circle, text(13, 18, "1", "badge")), "rule: the first that holds"
    yield from ((_line(kind), words) for kind, words in _LINES.items() if kind in kinds)
    if any(task.kind == "approval" or task.approval for box in picture.boxes for task in box.tasks):
        frame = shape("rect", "asks", x=2, y=6, width=24, height=16, rx=5)
        yield frame, "a person decides"
    if "success" in endings:
        yield _ring("ends"), "the run ends"
    if "failure" in endings:
        yield _ring("fails"), "the run fails"
    if walk is not None:
        yield _line("taken", moved(4, 5, *pill("1", "done"))), "taken, in this order"


def _line(css: str, *more: Element) -> Element:
    return grouped(f"line {css}", shape("path", "", d="M0,14h26"), *more)


def _ring(css: str) -> Element:
    ring = shape("ellipse", "", cx=13, cy=14, rx=9, ry=9)
    return grouped(css, ring, core(css, 13, 14))
