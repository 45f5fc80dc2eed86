"""Write a team's box and a route's label as tables for Graphviz."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from xml.etree.ElementTree import Element

from coterie.dsl.kinds import KINDS
from coterie.graph.drawing.cells import (
    LINE,
    PAD,
    Cells,
    gap,
    line_height,
    moved,
    nested,
    paragraph,
    pill,
    pill_width,
    row,
    shape,
    sign,
    table,
    text,
)
from coterie.graph.drawing.measure import widest, width, wrapped
from coterie.graph.drawing.style import MARKS
from coterie.graph.picture import RouteArrow, TeamBox
from coterie.graph.taken_path import Mark
from coterie.graph.task_lines import TaskLine

_MAX_WIDTH = 320
_MIN_WIDTH = 200
_EDGE = 4
"""Room between a box and its tasks."""
_INDENT = 16
_SIGN = 24
"""Width of a task's icon."""
_MARK = 18
"""Width of the mark of its status."""


def box(
    cells: Cells,
    team: TeamBox,
    marks: Mapping[str, Mark] | None,
    badges: Sequence[tuple[str, str]],
    frame: str,
) -> str:
    """Return the box of a team.

    Args:
        cells: Of the drawing.
        team: The team.
        marks: Status of its tasks by path; None if no run is shown.
        badges: Text and class of each badge.
        frame: Classes of its frame.
    """
    pad = PAD + _EDGE
    kind = [] if team.type == "standard" else [(team.type, "type")]
    room = sum(pill_width(words) + 2 * pad for words, _ in kind)
    names = wrapped(team.name, _MAX_WIDTH - room, "title", lines=2)
    under = wrapped(" · ".join((team.id, *team.limits)), _MAX_WIDTH, "soft", lines=3)
    title = [cells.lines(names, "title", pad=pad)]
    title += (cells.pills([word], pad=pad, align="RIGHT") for word in kind)
    rows = [gap(10, _MIN_WIDTH), nested(table(row(*title)))]
    rows.append(row(cells.lines(under, "soft", pad=pad)))
    rows += [gap(5), row(cells.pills(badges, pad=pad))] if badges else []
    rows.append(gap(7))
    if team.tasks:
        tasks = (nested(_task(cells, task, marks), _EDGE) for task in team.tasks)
        rows += LINE, gap(1), *tasks, gap(2)
    return table(*rows, frame=frame)


def _task(cells: Cells, task: TaskLine, marks: Mapping[str, Mark] | None) -> str:
    indent = task.depth * _INDENT + (_SIGN if task.kind else 0)
    css = "task-name" if task.kind else "soft"
    kind = width(task.kind or "", "kind")
    names = wrapped(task.name, _MAX_WIDTH - indent - kind, css, lines=2)
    ink = [*paragraph(indent, 0, names, css)]
    asks = task.kind == "approval" or bool(task.approval)
    if task.kind is not None:
        tone = "person" if asks else task.kind
        ink.append(sign(KINDS[task.kind].sign, f"sign {tone}", indent - _SIGN, 1))
    cell = cells.cell(indent + widest(names, css), len(names) * line_height(css), ink)
    rows = [nested(table(row(cell, _kind(cells, task, marks))))]
    details = [*task.detail, task.approval] if task.approval else task.detail
    if lines := [*_join_details(details, _MAX_WIDTH - indent)]:
        high = len(lines) * line_height("soft")
        under = paragraph(indent, 0, lines, "soft")
        rows.append(row(cells.cell(indent + widest(lines, "soft"), high, under)))
    return table(gap(2), *rows, gap(2), frame="asks" if asks else "") if task.kind else table(*rows)


def _kind(cells: Cells, task: TaskLine, marks: Mapping[str, Mark] | None) -> str:
    """Return the kind of a task and the mark of its status."""
    kind = width(task.kind or "", "kind")
    ink = [text(kind, 13, task.kind or "", "kind")]
    mark = marks.get(task.path) if marks and task.kind else None
    if mark is not None:
        ink.append(sign(MARKS[mark], f"mark {mark}", kind + 13, 9))
    wide = kind if marks is None else kind + _MARK
    return cells.cell(wide, line_height("task-name"), ink, align="RIGHT")


def _join_details(details: Iterable[str], maximum: float) -> Iterator[str]:
    """Join the details with dots, as many per line as fit."""
    line = ""
    for detail in details:
        if line and width(f"{line} · {detail}", "soft") > maximum:
            yield line
            line = ""
        line = f"{line} · {detail}" if line else detail
        if width(line, "soft") > maximum:
            *full, line = wrapped(line, maximum, "soft", lines=3)
            yield from full
    if line:
        yield line


def chip(cells: Cells, route: RouteArrow, order: str) -> str:
    """Return the label of a route, with the positions at which a run took it."""
    lines = list(_chip_lines(route))
    offset = 16 if route.number is not None else 0
    found = [line for part in route.found for line in wrapped(part, 256, "soft", lines=2)]
    high = len(lines) * line_height("condition") + len(found) * line_height("soft") + 10
    ink: list[Element] = []
    if route.number is not None:
        ink.append(shape("circle", "number", cx=0, cy=high / 2, r=8.5))
        ink.append(text(0, high / 2 + 4, str(route.number), "badge"))
    ink += paragraph(offset, 5, lines, "condition")
    ink += paragraph(offset, 5 + len(lines) * line_height("condition"), found, "soft")
    wide = offset + max(widest(lines, "condition"), widest(found, "soft"))
    parts = [cells.cell(wide, high, ink, pad=14)] if lines else []
    if order:
        badge = moved(0, high / 2 - 9, *pill(order, "done"))
        parts.append(cells.cell(pill_width(order), high, [badge], pad=5))
    return table(row(*parts), frame="chip" if lines else "")


def _chip_lines(route: RouteArrow) -> Iterator[str]:
    for index, part in enumerate(route.words):
        yield from wrapped(f"and {part}" if index else part, 256, "condition", lines=2)
    if len(route.targets) > 1:
        meeting = f", meet at {route.meets}" if route.meets else ""
        yield from wrapped(f"all at once{meeting}", 256, "condition", lines=2)
