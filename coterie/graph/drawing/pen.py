"""Draw into an SVG: shapes and texts as XML elements, every text escaped and measured."""

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement

from coterie.graph.drawing.layout import Curve, Point
from coterie.graph.drawing.measure import drawn_width, width

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not allow, not even escaped."""


class Pen:
    """Draws into one element; later drawings cover earlier ones."""

    def __init__(self, element: Element) -> None:
        self.element = element

    def group(self, css: str, title: str = "") -> "Pen":
        """Add a group with a tooltip."""
        pen = Pen(SubElement(self.element, "g", {"class": css}))
        if title:
            pen.title(title)
        return pen

    def title(self, text: str) -> None:
        """Set the element's title, for tooltips and screen readers."""
        SubElement(self.element, "title").text = _clean(text)

    def moved(self, to: Point) -> "Pen":
        """Add a group whose origin is at the point."""
        move = f"translate({_number(to.x)} {_number(to.y)})"
        return Pen(SubElement(self.element, "g", {"transform": move}))

    def rect(self, x: float, y: float, wide: float, high: float, radius: float, css: str) -> None:
        """Draw a rectangle by its upper left corner."""
        self._add("rect", css, x=x, y=y, width=wide, height=high, rx=radius)

    def circle(self, centre: Point, radius: float, css: str) -> None:
        """Draw a circle."""
        self._add("circle", css, cx=centre.x, cy=centre.y, r=radius)

    def path(self, data: str, css: str, move: Point | None = None) -> None:
        """Draw a path in SVG syntax, with its origin moved."""
        element = SubElement(self.element, "path", {"class": css, "d": data})
        if move is not None:
            element.set("transform", f"translate({_number(move.x)} {_number(move.y)})")

    def curve(self, curve: Curve, css: str) -> None:
        """Draw a line along the curve, and its head."""
        first, *rest = curve.points
        steps = " ".join(_pair(point) for point in rest)
        self.path(f"M{_pair(first)}C{steps}", css)
        if curve.tip is not None:
            self.path(_head(curve.points[-1], curve.tip), f"{css} head")

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        css: str,
        *,
        bold: bool = False,
        anchor: str = "start",
    ) -> None:
        """Draw one line of text by its baseline, exactly as wide as measured."""
        shown = _clean(text)
        wide = drawn_width(shown, size, bold=bold)
        attributes = {
            "class": css,
            "x": _number(x),
            "y": _number(y),
            "font-size": _number(size),
            "textLength": _number(wide),
            "lengthAdjust": "spacingAndGlyphs",
        }
        if bold:
            attributes["font-weight"] = "700"
        if anchor != "start":
            attributes["text-anchor"] = anchor
        SubElement(self.element, "text", attributes).text = shown

    def pill(self, centre: Point, text: str, css: str, size: float = 11) -> None:
        """Draw a short text in a rounded box around its centre."""
        wide = pill_width(text, size)
        high = size + 7
        self.rect(centre.x - wide / 2, centre.y - high / 2, wide, high, high / 2, f"pill {css}")
        y = centre.y + size * 0.36
        self.text(centre.x, y, text, size, f"on-{css}", bold=True, anchor="middle")

    def _add(self, tag: str, css: str, **numbers: float) -> None:
        given = {name: _number(value) for name, value in numbers.items()}
        SubElement(self.element, tag, {"class": css, **given})


def pill_width(text: str, size: float = 11) -> float:
    """Return the width of a text's pill."""
    return max(width(text, size, bold=True) + 12, size + 8)


def middle(curve: Curve) -> Point:
    """Return the point halfway along a curve."""
    points = curve.points
    part = (len(points) - 1) // 3 // 2
    if ((len(points) - 1) // 3) % 2 == 0 and part:
        return points[3 * part]
    return _on_bezier(points[3 * part : 3 * part + 4])


def _on_bezier(points: Sequence[Point]) -> Point:
    one, two, three, four = points
    return Point(
        (one.x + 3 * two.x + 3 * three.x + four.x) / 8,
        (one.y + 3 * two.y + 3 * three.y + four.y) / 8,
    )


def _head(base: Point, tip: Point) -> str:
    """Return the triangle at the end of a line."""
    dx, dy = tip.x - base.x, tip.y - base.y
    across = Point(-dy * 0.5, dx * 0.5)
    left = Point(base.x + across.x, base.y + across.y)
    right = Point(base.x - across.x, base.y - across.y)
    return f"M{_pair(tip)}L{_pair(left)}L{_pair(right)}Z"


def _pair(point: Point) -> str:
    return f"{_number(point.x)},{_number(point.y)}"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _clean(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
