"""Render the picture as SVG: Graphviz draws teams and routes, with classes for one style sheet.

The condition of a route is a node on the arrow, so that it cannot appear beside the wrong arrow or
over another one. Back edges are laid out reversed, so that the start of a run stays on top.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, cast
from xml.etree.ElementTree import Element, fromstring, indent, tostring

from coterie.failures import CommandError
from coterie.graph.drawing.cells import (
    Cells,
    core,
    grouped,
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
from coterie.graph.drawing.labels import box, chip
from coterie.graph.drawing.measure import cut, width, wrapped
from coterie.graph.drawing.style import MARKS, style_sheet
from coterie.graph.picture import START, Picture, RouteArrow, RouteKind, TeamBox
from coterie.graph.taken_path import Mark, Walk, with_walk
from coterie.runs.task_trees import TaskTree, TreeRow
from coterie.text.task_signs import TASK_SIGNS

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
        for end, is_turned in ends.items():
            yield _edge(tail, end, turned=is_turned and end != tail)
        return
    up = all(ends.values())
    into, out = ("s", "n") if up else ("n", "s")
    yield _edge(tail, label, turned=up, head="none", headport=into, weight="2")
    for end, is_turned in ends.items():
        port = {"tailport": out} if up or len(ends) == 1 else {}
        yield _edge(label, end, turned=is_turned, weight="2", **port)


def _edge(tail: str, end: str, *, turned: bool, head: str = "normal", **more: str) -> Edge:
    """Return an edge; one that points upwards is laid out reversed."""
    if not turned:
        return Edge(tail, end, {"arrowhead": head, **more})
    other = {"tailport": "headport", "headport": "tailport"}
    attributes = {other.get(key, key): value for key, value in more.items()}
    return Edge(end, tail, {"dir": "back", "arrowtail": head, **attributes})


def back_edges(picture: Picture) -> frozenset[BackEdge]:
    """Return the routes that lead back to an earlier team; without them the graph has no cycles."""
    following: dict[str, list[str]] = {picture.entry: []}
    for route in picture.routes:
        following.setdefault(route.team, []).extend(route.targets)
    back: set[BackEdge] = set()
    earlier: set[str] = set()
    path: set[str] = set()
    stack = [(team, False) for team in reversed(following)]
    while stack:
        team, is_done = stack.pop()
        if is_done:
            path.remove(team)
        elif team not in earlier:
            earlier.add(team)
            path.add(team)
            targets = following.get(team, [])
            back.update((team, target) for target in targets if target in path)
            stack.append((team, True))
            stack += ((target, False) for target in reversed(targets))
    return frozenset(back)


_MARGIN = 36
_GAP = 14
_NARROWEST = 648
_INCH = 72
_GRAPH = {
    "rankdir": "TB",
    "ranksep": "0.42",
    "nodesep": "0.34",
    "splines": "true",
    "newrank": "true",
    "mclimit": "8",
    "nslimit": "100",
    "searchsize": "200",
    "bgcolor": "transparent",
    "pad": "0",
    "outputorder": "edgesfirst",
}


def svg_of(picture: Picture, walk: Walk | None = None) -> str:
    """Render the picture, with the path of a run if there is one.

    Raises:
        CommandError: The layout library is not installed.
    """
    picture = with_walk(picture, walk)
    graph, wide, high = _Drawing(picture, walk).drawn()
    room = max(wide, _NARROWEST)
    top, head = heading(picture, walk, room)
    bottom, foot = below(picture, walk, room)
    middle = _MARGIN + top + _GAP
    under = middle + high + _MARGIN
    width, height = f"{room + 2 * _MARGIN:.0f}", f"{under + bottom + _GAP:.0f}"
    size = {"width": width, "height": height}
    frame = {"viewBox": f"0 0 {width} {height}", "role": "img"}
    root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size, **frame})
    title = picture.name if walk is None else f"{picture.name}: {walk.run}"
    root.extend(grouped("", title=title))
    root.append(style := Element("style"))
    style.text = style_sheet()
    root.append(shape("rect", "page", **size))
    root.append(moved(_MARGIN, _MARGIN - 8, *head))
    root.append(moved(round(_MARGIN + (room - wide) / 2), middle, graph))
    root.append(moved(_MARGIN, under, *foot))
    indent(root)
    return tostring(root, encoding="unicode") + "\n"


def figure_of(picture: Picture, walk: Walk | None = None) -> Element:
    """Return the teams and routes with their legend alone, for a page that has the style sheet.

    Raises:
        CommandError: The layout library is not installed.
    """
    picture = with_walk(picture, walk)
    graph, wide, high = _Drawing(picture, walk).drawn()
    room = max(wide, _NARROWEST)
    under, foot = below(picture, None if walk is None else replace(walk, trees=()), room)
    size = {"width": f"{room:.0f}", "height": f"{high + _MARGIN + under:.0f}"}
    root = Element("svg", {**size, "viewBox": f"0 0 {size['width']} {size['height']}"})
    root.append(moved(round((room - wide) / 2), 0, graph))
    root.append(moved(0, high + _MARGIN, *foot))
    return root


class _Drawing:
    """Describes one picture to Graphviz."""

    def __init__(self, picture: Picture, walk: Walk | None) -> None:
        self._picture = picture
        self._walk = walk
        self._cells = Cells()
        self._groups: list[Element] = []
        self._nodes: dict[str, dict[str, str]] = {}
        self._edges: list[Edge] = []

    def drawn(self) -> tuple[Element, float, float]:
        """Return the drawing, its width and its height: lines first, then ends and boxes."""
        self._entry()
        back = back_edges(self._picture)
        for route in sorted(self._picture.routes, key=lambda route: bool(self._orders(route))):
            self._route(route, back)
        for route in self._picture.routes:
            if not route.targets and end_node(route) not in self._nodes:
                self._end(route)
        for team in self._picture.boxes:
            self._box(team)
        picture = _drawn_by_graphviz(self._nodes, self._edges)
        canvas = picture[0]
        self._cells.fill(canvas)
        for part in canvas:
            if part.get("id", "").isdigit():
                group = self._groups[int(part.get("id", ""))]
                group.extend(shape for shape in part if shape.tag != "title")
        canvas[:] = self._groups
        wide, high = (
            float(picture.get(side, "").removesuffix("pt")) for side in ("width", "height")
        )
        canvas.attrib = {"transform": f"translate(0 {high:g})"}
        return canvas, wide, high

    def _group(self, css: str, title: str, *, faded: bool = False) -> str:
        """Add a group, and return the id of its nodes and edges."""
        faded = faded and self._walk is not None
        self._groups.append(grouped(f"{css} unvisited" if faded else css, title=title))
        return str(len(self._groups) - 1)

    def _orders(self, route: RouteArrow) -> tuple[int, ...]:
        return () if self._walk is None else self._walk.orders(route)

    def _entry(self) -> None:
        is_taken = self._walk is not None and self._walk.began_at_entry
        group = self._group(f"entry line{' taken' if is_taken else ''}", "the run starts here")
        self._nodes[team_node(START)] = _circle(group, 16, "")
        entry = {"id": group, "weight": "4"}
        self._edges.append(Edge(team_node(START), team_node(self._picture.entry), entry))

    def _route(self, route: RouteArrow, back: frozenset[tuple[str, str]]) -> None:
        orders = self._orders(route)
        css = f"route line {route.kind}{' taken' if orders else ''}"
        group = self._group(css, describe_route(route), faded=not orders)
        node = f"label {group}"
        label: dict[str, str] = {}
        if is_labelled(route) or orders:
            around = chip(self._cells, route, _order_text(orders))
            label = {
                "label": f"<{around if is_through_label(route) else table(nested(around, 4))}>"
            }
        if is_through_label(route):
            self._nodes[node] = {"id": group, "shape": "plain", **label}
            label = {}
        for tail, head, attributes in edges(route, node, back):
            self._edges.append(Edge(tail, head, {"id": group, **attributes, **label}))

    def _end(self, route: RouteArrow) -> None:
        node = end_node(route)
        same = [other for other in self._picture.routes if not other.targets]
        is_reached = any(self._orders(other) for other in same if end_node(other) == node)
        css, title = "ends", "the run ends"
        if route.ending == "failure":
            css, title = "fails", "the run fails"
        group = self._group(f"final {css}", title, faded=not is_reached)
        inside = self._cells.cell(8, 8, [core(css, 4, 4)], pad=0)
        self._nodes[node] = _circle(group, 18, f"<{table(row(inside))}>")

    def _box(self, team: TeamBox) -> None:
        walk = self._walk
        standing = None if walk is None else walk.standing.get(team.id)
        badges = [] if walk is None else walk.badges(team.id)
        marks: dict[str, Mark] | None = None
        if walk is not None:
            marks = {path: mark for (where, path), mark in walk.marks.items() if where == team.id}
        frame = "box visited" if badges else "box"
        frame = f"{frame} at-{standing}" if standing else frame
        self._nodes[team_node(team.id)] = {
            "id": self._group("team", f"team {team.id}", faded=not badges),
            "shape": "plain",
            "label": f"<{box(self._cells, team, marks, badges, frame)}>",
        }


def _circle(group: str, pixels: int, label: str) -> dict[str, str]:
    size = f"{pixels / _INCH}"
    attributes = {"fixedsize": "true", "width": size, "height": size, "margin": "0"}
    return {"id": group, "shape": "circle", "label": label, **attributes}


def _drawn_by_graphviz(nodes: dict[str, dict[str, str]], lines: list[Edge]) -> Element:
    """Return the SVG of the graph, without name spaces."""
    try:
        from pygraphviz import AGraph  # pyright: ignore
    except ImportError as error:
        raise CommandError(
            f"SVG output needs the package pygraphviz, which does not load here ({error}); "
            "install it, or use --format mermaid"
        ) from None
    graph = AGraph(directed=True, strict=False, **_GRAPH)  # pyright: ignore
    for name, attributes in nodes.items():
        graph.add_node(name, **attributes)  # pyright: ignore
    for number, (tail, head, attributes) in enumerate(lines):
        graph.add_edge(tail, head, key=number, arrowsize="0.9", **attributes)  # pyright: ignore
    svg = fromstring(cast("bytes", graph.draw(format="svg", prog="dot")))  # pyright: ignore
    for part in svg.iter():
        part.tag = part.tag.rpartition("}")[2]
    return svg


def _order_text(orders: tuple[int, ...]) -> str:
    if len(orders) <= 4:
        return ", ".join(str(order) for order in orders)
    return f"{orders[0]}, {orders[1]} … {orders[-1]}"


def describe_route(route: RouteArrow) -> str:
    """Describe a route in a sentence, for tooltips."""
    whither = ", ".join(route.targets) or f"the end ({route.ending})"
    what = f"rule {route.number}: " if route.number is not None else ""
    sets = f"; sets {', '.join(route.updates)}" if route.updates else ""
    words = f"{what}{' and '.join(route.words)} " if route.words else ""
    return f"{route.team or 'start'}: {words}→ {whither}{sets}"


_PAD = 14
_INDENT = 22
_MAX_DEPTH = 8
"""Levels that are indented; deeper ones stand below each other."""
_MARK = 20
_SIGN = 28
"""Height of a line of the legend."""

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
    for sample, words in _legend(picture, walk):
        room = 34 + width(words, "soft")
        if x and x + room > wide:
            x, y = 0.0, y + _SIGN
        signs.append(moved(round(x, 1), y, sample, text(34, 18, words, "soft")))
        x += room + 26
    return y + _SIGN, [*ink, grouped("legend", *signs)]


def _panel(tree: TaskTree, wide: float) -> tuple[float, Element]:
    title = cut(tree.headline, wide - 2 * _PAD, "task-name")
    ink = [*paragraph(_PAD, 10, [title], "task-name")]
    y = 38.0
    tops: dict[str, float] = {}
    for each in tree.rows():
        margin = _PAD + min(each.depth, _MAX_DEPTH) * _INDENT
        parent = tops.get(each.parent or "")
        if parent is not None and each.depth <= _MAX_DEPTH:
            data = f"M{margin - _INDENT + 6},{parent + 17:g}V{y + 8:g}h{_INDENT - 10}"
            ink.append(shape("path", "tree-line", d=data))
        high, about = _tree_row(each, wide - _PAD - margin)
        ink.append(moved(margin, y, about))
        tops[each.node.id] = y
        y += high
    frame = shape("rect", "panel", width=wide, height=y + 8, rx=8)
    return y + 8, grouped("tasks", frame, *ink, title=f"tasks of {tree.step}")


def _tree_row(each: TreeRow, wide: float) -> tuple[float, Element]:
    """Return the height of a task's lines, and the lines."""
    node = each.node
    also = f"; also after {', '.join(each.also_after)}" if each.also_after else ""
    lines = wrapped(f"{node.because}{also}", wide - _MARK, "soft", lines=2)
    mark = TASK_SIGNS[node.status].mark
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
