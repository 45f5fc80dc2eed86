"""Drawings in pages: our own SVG, let through by a list of what it may contain."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element, tostring

from markupsafe import Markup

from coterie.dsl.model.plan import Plan
from coterie.gateway.console.decisions_view import found_by
from coterie.graph.drawing.svg import describe_route, figure_of
from coterie.graph.picture import Picture, RouteArrow, RouteKey, picture
from coterie.graph.taken_path import Walk, with_walk
from coterie.replay.trace_events import Visit

MAX_TEAMS = 150
"""Teams that a page draws; the layout of more takes seconds, and nobody finds one in it."""

_TAGS = {"svg", "g", "path", "polygon", "ellipse", "circle", "rect", "text", "title"}
_ATTRIBUTES = re.compile(
    "class|d|points|transform|viewBox|width|height|x|y|cx|cy|r|rx|ry|fill|stroke|"
    "stroke-width|stroke-dasharray|font-family|font-size|text-anchor|role|"
    "preserveAspectRatio|aria-label|aria-hidden"
)
_VALUE = re.compile(r"[^<>&\"'\x00-\x08]*")


class UnexpectedDrawing(ValueError):
    """A drawing contains what no drawing of ours contains."""


@dataclass(frozen=True, slots=True)
class CheckedDrawing:
    """A checked SVG, which a template writes as it is."""

    svg: Markup

    def __html__(self) -> Markup:
        """Return the SVG."""
        return self.svg


@dataclass(frozen=True, slots=True)
class RouteRow:
    """One route of the graph, in words."""

    team: str
    rule: str
    """`1`, `otherwise`, `redirect`."""
    words: str
    to: str
    taken: str
    """The positions at which the run took it."""
    found: str
    """What the run found when it last examined the rule."""


@dataclass(frozen=True, slots=True)
class TeamGraph:
    """The graph of a plan, with the path of a run if there is one."""

    drawing: CheckedDrawing | None
    """None: it has too many teams."""
    teams: int
    routes: tuple[RouteRow, ...]


def checked(root: Element, label: str) -> CheckedDrawing:
    """Return a drawing with a name for screen readers.

    Raises:
        UnexpectedDrawing: It contains an element or an attribute that is not on the list.
    """
    for element in root.iter():
        if element.tag not in _TAGS:
            raise UnexpectedDrawing(f"a drawing contains the element {element.tag!r}")
        for name, value in element.attrib.items():
            if not _ATTRIBUTES.fullmatch(name) or not _VALUE.fullmatch(value):
                raise UnexpectedDrawing(f"a drawing contains the attribute {name!r}")
            if "url(" in value.lower():
                raise UnexpectedDrawing(f"a drawing refers to something: {name!r}")
    root.set("role", "img")
    root.set("aria-label", label)
    return CheckedDrawing(Markup(tostring(root, encoding="unicode")))


def team_graph(
    plan: Plan, walk: Walk | None = None, visits: Mapping[tuple[str, int], Visit] | None = None
) -> TeamGraph:
    """Return the graph of a plan: with the path of a run, and what its rules found.

    Args:
        plan: The plan.
        walk: The path of a run; None for the plan alone.
        visits: Of the run.
    """
    found = _findings(visits or {})
    drawn = picture(plan)
    routes = tuple(replace(route, found=found.get(route.key, ())) for route in drawn.routes)
    drawn = replace(drawn, routes=routes)
    shown = with_walk(drawn, walk)
    drawing = None
    if len(drawn.boxes) <= MAX_TEAMS:
        drawing = checked(figure_of(drawn, walk), _label(shown, walk))
    rows = tuple(_route(route, walk) for route in shown.routes if route.kind != "call")
    return TeamGraph(drawing, len(drawn.boxes), rows)


def _findings(visits: Mapping[tuple[str, int], Visit]) -> dict[RouteKey, tuple[str, ...]]:
    """Return what each rule found in the latest visit that examined it."""
    found: dict[RouteKey, tuple[str, ...]] = {}
    for visit in visits.values():
        for rule in visit.rules or ():
            if rule.condition is not None:
                mark = "met" if rule.taken else "not met"
                texts = found_by(rule.condition)
                found[visit.team, rule.number] = tuple(f"{mark}: {text}" for text in texts)
    return found


def _label(shown: Picture, walk: Walk | None) -> str:
    routes = "; ".join(describe_route(route) for route in shown.routes[:20])
    path = "" if walk is None else f", and the path of the run: {walk.headline}"
    return re.sub("[<>&\"'\x00-\x08]", " ", f"Graph of {shown.name}{path}. {routes}")


def _route(route: RouteArrow, walk: Walk | None) -> RouteRow:
    orders = () if walk is None else walk.orders(route)
    rule = route.kind if route.number is None else str(route.number)
    return RouteRow(
        team=route.team or "start",
        rule="otherwise" if rule == "default" else rule,
        words=" and ".join(route.words),
        to=", ".join(route.targets) or ("the end" if route.ending == "success" else "failure"),
        taken=", ".join(str(order) for order in orders[:12]) + (" …" if len(orders) > 12 else ""),
        found="; ".join(route.found),
    )
