"""Render the picture as SVG: Graphviz lays it out, this module draws it."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from coterie.graph.drawing.arrows import START_SHAPE, Arrow, back_edges, team_shape
from coterie.graph.drawing.boxes import BoxFigure
from coterie.graph.drawing.layout import Connector, Point, Shape, laid_out
from coterie.graph.drawing.legend import Legend
from coterie.graph.drawing.measure import cut, wrapped
from coterie.graph.drawing.pen import Pen, middle, pill_width
from coterie.graph.drawing.style import MARKS, style_sheet
from coterie.graph.drawing.tree_panels import TreePanel
from coterie.graph.picture import Picture, RouteArrow, RouteKind
from coterie.graph.taken_path import Mark, Standing, Walk, with_walk

_MARGIN = 36
_NARROWEST = 720
_PANEL_GAP = 16
_STANDING: dict[Standing, str] = {
    "now": "now here",
    "waiting": "waits for a person",
    "failed": "failed here",
    "stopped": "stopped here",
}
_DASHES: dict[RouteKind, str] = {
    "default": " default",
    "call": " call",
    "timeout": " timeout",
    "bound": " bound",
    "redirect": " redirect",
}


def svg_of(picture: Picture, walk: Walk | None = None) -> str:
    """Render the picture, with the path of a run if there is one.

    Raises:
        CommandError: The layout library is not installed.
    """
    return _Drawing(picture, walk).text()


class _Drawing:
    """Renders one picture."""

    def __init__(self, picture: Picture, walk: Walk | None) -> None:
        self.picture = picture = with_walk(picture, walk)
        self.walk = walk
        self.boxes = {box.id: BoxFigure(box, marked=walk is not None) for box in picture.boxes}
        self.arrows = [Arrow(index, route) for index, route in enumerate(picture.routes)]
        back = back_edges(picture)
        self.lines = {arrow.via: arrow.lines(back) for arrow in self.arrows}
        entry = Connector("entry", START_SHAPE, team_shape(picture.entry), weight=4)
        lines = [entry, *(line for lines in self.lines.values() for line in lines)]
        self.layout = laid_out(list(self._shapes()), lines)

    def _shapes(self) -> Iterator[Shape]:
        yield Shape(START_SHAPE, 16, 16, round=True)
        for team, figure in self.boxes.items():
            yield Shape(team_shape(team), figure.width, figure.height)
        for arrow in self.arrows:
            if arrow.chip is not None and arrow.has_shape:
                yield Shape(arrow.via, arrow.chip.width, arrow.chip.height)
        for end in dict.fromkeys(arrow.end for arrow in self.arrows if arrow.end):
            yield Shape(end, 20, 20, round=True)

    def text(self) -> str:
        """Return the SVG document."""
        wide = max(self.layout.width + 2 * _MARGIN, _NARROWEST)
        headline = self._headline(wide - 2 * _MARGIN)
        head = 88 + 20 * len(headline)
        legend = Legend(self.picture, self.walk, wide - 2 * _MARGIN)
        trees = () if self.walk is None else self.walk.trees
        panels = [TreePanel(tree, wide - 2 * _MARGIN) for tree in trees]
        below = head + self.layout.height + _MARGIN
        high = below + sum(panel.height + _PANEL_GAP for panel in panels) + legend.height + 20
        root = Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "viewBox": f"0 0 {wide:.0f} {high:.0f}",
                "width": f"{wide:.0f}",
                "height": f"{high:.0f}",
                "role": "img",
            },
        )
        SubElement(root, "style").text = style_sheet()
        pen = Pen(root)
        pen.title(self._title())
        pen.rect(0, 0, wide, high, 0, "page")
        self._head(pen, headline, wide - 2 * _MARGIN)
        left = (wide - self.layout.width) / 2
        self._graph(pen.moved(Point(left, head)))
        for panel in panels:
            panel.draw(pen, Point(_MARGIN, below - 12))
            below += panel.height + _PANEL_GAP
        legend.draw(pen, Point(_MARGIN, high - legend.height - 6))
        indent(root)
        return tostring(root, encoding="unicode") + "\n"

    def _title(self) -> str:
        return self.picture.name if self.walk is None else f"{self.picture.name}: {self.walk.run}"

    def _headline(self, maximum: float) -> list[str]:
        if self.walk is None:
            return []
        return wrapped(f"{self.walk.run}: {self.walk.headline}", maximum, 13.5, lines=4)

    def _head(self, pen: Pen, headline: list[str], maximum: float) -> None:
        y = 52
        pen.text(
            _MARGIN, y - 4, cut(self.picture.name, maximum, 22, bold=True), 22, "ink", bold=True
        )
        for line in headline:
            y += 20
            pen.text(_MARGIN, y, line, 13.5, "ink")
        limits = " · ".join((*self.picture.limits, f"digest {self.picture.digest}"))
        pen.text(_MARGIN, y + 21, cut(limits, maximum, 12), 12, "soft")

    def _graph(self, pen: Pen) -> None:
        """Draw lines first, then boxes and labels, then the path of the run."""
        begin = pen.group("entry", "the run starts here")
        begin.curve(self.layout.curves["entry"], self._entry())
        begin.circle(self.layout.centres[START_SHAPE], 8, "start")
        taken = [arrow for arrow in self.arrows if self._orders(arrow.route)]
        for arrow in (*(one for one in self.arrows if one not in taken), *taken):
            self._arrow(pen, arrow)
        for end in dict.fromkeys(arrow.end for arrow in self.arrows if arrow.end):
            self._end(pen, end)
        for team in self.boxes:
            self._box(pen, team)

    def _entry(self) -> str:
        return "taken" if self.walk is not None and self.walk.began_at_entry else "edge"

    def _orders(self, route: RouteArrow) -> tuple[int, ...]:
        return () if self.walk is None else self.walk.orders(route)

    def _arrow(self, pen: Pen, arrow: Arrow) -> None:
        route = arrow.route
        orders = self._orders(route)
        faded = " unvisited" if self.walk is not None and not orders else ""
        group = pen.group(f"route{faded}", describe_route(route))
        css = f"{'taken' if orders else 'edge'}{_DASHES.get(route.kind, '')}"
        curves = [self.layout.curves[line.id] for line in self.lines[arrow.via]]
        for curve in curves:
            group.curve(curve, css)
        if arrow.chip is not None:
            arrow.chip.draw(group, self._chip(arrow), "visited" if orders else "")
        if orders:
            label = _order_text(orders)
            group.pill(self._badge(arrow, label), label, "done")

    def _chip(self, arrow: Arrow) -> Point:
        """Return the centre of a route's label."""
        return self.layout.labels.get(arrow.via) or self.layout.centres[arrow.via]

    def _badge(self, arrow: Arrow, label: str) -> Point:
        """Return the place of a route's position numbers: above its label's end, or on its line."""
        if arrow.chip is None:
            return middle(self.layout.curves[self.lines[arrow.via][0].id])
        chip = self._chip(arrow)
        right = chip.x + arrow.chip.width / 2
        return Point(right + 10 - pill_width(label) / 2, chip.y - arrow.chip.height / 2 - 4)

    def _end(self, pen: Pen, end: str) -> None:
        at = self.layout.centres[end]
        routes = [arrow.route for arrow in self.arrows if arrow.end == end]
        reached = any(self._orders(route) for route in routes)
        faded = " unvisited" if self.walk is not None and not reached else ""
        if routes[0].ending == "failure":
            group = pen.group(f"final{faded}", "the run fails")
            group.circle(at, 9, "page")
            group.circle(at, 9, "failed-end")
            group.path(MARKS["failure"], "failed-end", at)
        else:
            group = pen.group(f"final{faded}", "the run ends")
            group.circle(at, 9, "page")
            group.circle(at, 9, "end")
            group.circle(at, 4.5, "end-core")

    def _box(self, pen: Pen, team: str) -> None:
        figure, at = self.boxes[team], self.layout.centres[team_shape(team)]
        walk = self.walk
        visits = 0 if walk is None else walk.visits.get(team, 0)
        standing = None if walk is None else walk.standing.get(team)
        if walk is None or not (visits or standing):
            faded = "" if walk is None else " unvisited"
            figure.draw(pen.group(f"team{faded}", f"team {team}"), at, {}, "")
            return
        group = pen.group("team", f"team {team}")
        marks: dict[str, Mark] = {
            path: mark for (where, path), mark in walk.marks.items() if where == team
        }
        figure.draw(group, at, marks, f"visited at-{standing}" if standing else "visited")
        if visits:
            label = "1 visit" if visits == 1 else f"{visits} visits"
            right = at.x + figure.width / 2 - pill_width(label) / 2 - 10
            group.pill(Point(right, at.y - figure.height / 2), label, "done")
        if standing is not None:
            label = _STANDING[standing]
            left = at.x - figure.width / 2 + pill_width(label) / 2 + 10
            group.pill(Point(left, at.y + figure.height / 2 + 3), label, standing)


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
    return f"{route.team or START_SHAPE}: {words}→ {whither}{sets}"
