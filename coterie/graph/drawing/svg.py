"""Render the picture as SVG: Graphviz draws teams and routes, with classes for one style sheet.

The condition of a route is a node on the arrow, so that it cannot appear beside the wrong arrow or
over another one. Back edges are laid out reversed, so that the start of a run stays on top.
"""

from typing import cast
from xml.etree.ElementTree import Element, fromstring, indent, tostring

from coterie.failures import CommandError
from coterie.graph.drawing.around import below, heading
from coterie.graph.drawing.arrows import (
    Edge,
    back_edges,
    edges,
    end_node,
    is_labelled,
    is_through_label,
    team_node,
)
from coterie.graph.drawing.cells import Cells, core, grouped, moved, nested, row, shape, table
from coterie.graph.drawing.labels import box, chip
from coterie.graph.drawing.style import style_sheet
from coterie.graph.picture import START, Picture, RouteArrow, TeamBox
from coterie.graph.taken_path import Mark, Standing, Walk, with_walk

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
_STANDING: dict[Standing, str] = {
    "now": "now here",
    "waiting": "waits for a person",
    "failed": "failed here",
    "stopped": "stopped here",
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
        drawn = _drawn_by_graphviz(self._nodes, self._edges)
        canvas = drawn[0]
        self._cells.fill(canvas)
        for part in canvas:
            if part.get("id", "").isdigit():
                group = self._groups[int(part.get("id", ""))]
                group.extend(shape for shape in part if shape.tag != "title")
        canvas[:] = self._groups
        wide, high = (float(drawn.get(side, "").removesuffix("pt")) for side in ("width", "height"))
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
        taken = self._walk is not None and self._walk.began_at_entry
        group = self._group(f"entry line{' taken' if taken else ''}", "the run starts here")
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
        reached = any(self._orders(other) for other in same if end_node(other) == node)
        css, title = "ends", "the run ends"
        if route.ending == "failure":
            css, title = "fails", "the run fails"
        group = self._group(f"final {css}", title, faded=not reached)
        inside = self._cells.cell(8, 8, [core(css, 4, 4)], pad=0)
        self._nodes[node] = _circle(group, 18, f"<{table(row(inside))}>")

    def _box(self, team: TeamBox) -> None:
        walk = self._walk
        visits = 0 if walk is None else walk.visits.get(team.id, 0)
        standing = None if walk is None else walk.standing.get(team.id)
        badges: list[tuple[str, str]] = []
        if visits:
            badges.append(("1 visit" if visits == 1 else f"{visits} visits", "done"))
        if standing is not None:
            badges.append((_STANDING[standing], standing))
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
    fixed = {"fixedsize": "true", "width": size, "height": size, "margin": "0"}
    return {"id": group, "shape": "circle", "label": label, **fixed}


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
    drawn = fromstring(cast("bytes", graph.draw(format="svg", prog="dot")))  # pyright: ignore
    for part in drawn.iter():
        part.tag = part.tag.rpartition("}")[2]
    return drawn


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
