"""Lay out the picture with Graphviz's `dot` as a library.

The condition of a route is a shape on the arrow, so that it cannot appear beside the wrong arrow or
over another one. Back edges are laid out reversed, so that the start of a run stays on top.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from coterie.failures import CommandError

Port = Literal["n", "s", ""]
_INCH = 72
_POINT = re.compile(r"(?:([es]),)?(-?[\d.]+(?:e-?\d+)?),(-?[\d.]+(?:e-?\d+)?)")


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape to place; sizes in pixels."""

    id: str
    width: float
    height: float
    round: bool = False
    """Whether arrows end at the circle, not at the box around it."""


@dataclass(frozen=True, slots=True)
class Connector:
    """An arrow, or a segment of one, from one shape to another."""

    id: str
    tail: str
    head: str
    tail_port: Port = ""
    head_port: Port = ""
    backwards: bool = False
    """Whether it points upwards."""
    arrow: bool = True
    """Whether it has a head."""
    weight: int = 1
    """Preference for a short and straight line."""
    label: tuple[float, float] | None = None
    """Width and height of its label."""


@dataclass(frozen=True, slots=True)
class Point:
    """A position in pixels from the upper left corner."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Curve:
    """The course of a line: a Bezier curve's points (1 + 3n), and the tip of its head."""

    points: tuple[Point, ...]
    tip: Point | None


@dataclass(frozen=True, slots=True)
class Layout:
    """The positions of all shapes and lines."""

    width: float
    height: float
    centres: Mapping[str, Point]
    curves: Mapping[str, Curve]
    labels: Mapping[str, Point]
    """Their centres, by the id of the line."""


def laid_out(shapes: Sequence[Shape], lines: Sequence[Connector]) -> Layout:
    """Place the shapes and route the lines around them.

    Raises:
        CommandError: The library is not installed.
    """
    drawn = _drawn_by_graphviz(shapes, lines)
    left, bottom, right, top = (float(part) for part in str(drawn["bb"]).split(","))

    def placed(x: str, y: str) -> Point:
        return Point(round(float(x) - left, 1), round(top - float(y), 1))

    objects = cast("list[dict[str, str]]", drawn.get("objects", []))
    edges = cast("list[dict[str, str]]", drawn.get("edges", []))
    curves: dict[str, Curve] = {}
    backwards = {line.id for line in lines if line.backwards}
    for edge in edges:
        name = edge["id"]
        curves[name] = _curve(edge["pos"], placed, turned=name in backwards)
    return Layout(
        width=right - left,
        height=top - bottom,
        centres={one["name"]: placed(*one["pos"].split(",")) for one in objects},
        curves=curves,
        labels={edge["id"]: placed(*edge["lp"].split(",")) for edge in edges if "lp" in edge},
    )


def _drawn_by_graphviz(shapes: Sequence[Shape], lines: Sequence[Connector]) -> dict[str, object]:
    try:
        from pygraphviz import AGraph  # pyright: ignore
    except ImportError as error:
        raise CommandError(
            f"SVG output needs the package pygraphviz, which does not load here ({error}); "
            "install it, or use --format mermaid"
        ) from None
    graph = AGraph(directed=True, strict=False)  # pyright: ignore
    graph.graph_attr.update(  # pyright: ignore
        rankdir="TB",
        ranksep="0.42",
        nodesep="0.34",
        splines="true",
        newrank="true",
        mclimit="8",
        nslimit="100",
        searchsize="200",
    )
    for shape in shapes:
        graph.add_node(  # pyright: ignore
            shape.id,
            label="",
            shape="circle" if shape.round else "box",
            fixedsize="true",
            width=shape.width / _INCH,
            height=shape.height / _INCH,
        )
    for line in lines:
        graph.add_edge(*_ends(line), key=line.id, **_attributes(line))  # pyright: ignore
    text = graph.draw(format="json0", prog="dot")  # pyright: ignore
    return cast("dict[str, object]", json.loads(cast("bytes", text)))


def _ends(line: Connector) -> tuple[str, str]:
    return (line.head, line.tail) if line.backwards else (line.tail, line.head)


def _attributes(line: Connector) -> dict[str, str]:
    ports = {"tailport": line.tail_port, "headport": line.head_port}
    if line.backwards:
        ports = {"tailport": line.head_port, "headport": line.tail_port}
    direction = "none" if not line.arrow else "back" if line.backwards else "forward"
    given = {"id": line.id, "dir": direction, "arrowsize": "0.75", "weight": str(line.weight)}
    if line.label is not None:
        wide, high = line.label
        given["label"] = (
            f'<<TABLE BORDER="0" FIXEDSIZE="TRUE" WIDTH="{wide:.0f}" HEIGHT="{high:.0f}">'
            "<TR><TD></TD></TR></TABLE>>"
        )
    return given | {key: port for key, port in ports.items() if port}


def _curve(text: str, placed: Callable[[str, str], Point], *, turned: bool) -> Curve:
    points: list[Point] = []
    tip: Point | None = None
    for mark, x, y in cast("Iterator[tuple[str, str, str]]", _POINT.findall(text)):
        if mark:
            tip = placed(x, y)
        else:
            points.append(placed(x, y))
    return Curve(tuple(reversed(points)) if turned else tuple(points), tip)
