"""Describe tables for Graphviz, and fill their cells.

Graphviz places and frames cells of given sizes; it never sees a text. It would measure texts by the
fonts of this machine, and a machine without fonts measures nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from typing import Literal
from xml.etree.ElementTree import Element

from coterie.graph.drawing.measure import widest, width
from coterie.graph.drawing.style import DOT, FONTS, MARKS

PAD = 10
"""Room on either side of a cell."""
Align = Literal["LEFT", "RIGHT"]
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not allow, not even escaped."""
_FLAT = 'BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0"'


class Cells:
    """The cells of one drawing."""

    def __init__(self) -> None:
        self._inks: list[Element] = []

    def cell(
        self,
        wide: float,
        high: float,
        ink: Iterable[Element],
        *,
        pad: float = PAD,
        align: Align = "LEFT",
    ) -> str:
        """Return a cell; `ink` is drawn from its upper left corner, after the room at its side."""
        self._inks.append(moved(pad, 0, *ink))
        return (
            f'<TD FIXEDSIZE="TRUE" WIDTH="{ceil(wide + 2 * pad)}" HEIGHT="{max(1, ceil(high))}" '
            f'ALIGN="{align}" ID="cell {len(self._inks) - 1}" TITLE="-" BGCOLOR="black"></TD>'
        )

    def lines(self, lines: Sequence[str], css: str, *, pad: float = PAD) -> str:
        """Return a cell with lines of text."""
        high = len(lines) * line_height(css)
        return self.cell(widest(lines, css), high, paragraph(0, 0, lines, css), pad=pad)

    def pills(
        self, pills: Iterable[tuple[str, str]], *, pad: float = PAD, align: Align = "LEFT"
    ) -> str:
        """Return a cell with short texts in rounded boxes, each of a class."""
        ink: list[Element] = []
        x = 0.0
        for words, css in pills:
            ink.append(moved(x, 0, *pill(words, css)))
            x += pill_width(words) + 6
        return self.cell(x - 6, PILL_HEIGHT, ink, pad=pad, align=align)

    def fill(self, drawn: Element) -> None:
        """Put its ink into each cell that Graphviz has placed; name the frames by their classes."""
        for group in list(drawn.iter("g")):
            name = group.get("id", "")
            if name.startswith("a_"):
                [anchor] = group
                group.attrib.clear()
                if not name.startswith("a_cell "):
                    group.set("class", name[2:])
                    group[:] = anchor[:]
                    continue
                corners = [pair.split(",") for pair in anchor[0].get("points", "").split()]
                x, y = (min(map(float, numbers)) for numbers in zip(*corners, strict=True))
                group.set("transform", f"translate({x:g} {y:g})")
                group[:] = [self._inks[int(name[7:])]]


def table(*rows: str, frame: str = "") -> str:
    """Return a table of rows; with a frame if a class is given."""
    attributes = f'ID="{frame}" TITLE="-" STYLE="ROUNDED" BGCOLOR="white"' if frame else ""
    return f"<TABLE {_FLAT} {attributes}>{''.join(rows)}</TABLE>"


def row(*cells: str) -> str:
    """Return a row of cells."""
    return f"<TR>{''.join(cells)}</TR>"


def gap(high: int, wide: int = 0) -> str:
    """Return an empty row; the table is at least as wide."""
    return f'<TR><TD HEIGHT="{high}" WIDTH="{wide}"></TD></TR>'


def nested(inner: str, around: int = 0) -> str:
    """Return a row with a table in it, and room around it."""
    return f'<TR><TD CELLPADDING="{around}">{inner}</TD></TR>'


LINE = nested(f'<TABLE {_FLAT} BGCOLOR="black">{gap(1)}</TABLE>', 1)
"""A row that is a thin line."""


def line_height(css: str) -> float:
    """Return the height of one line of a class of text."""
    return round(FONTS[css].size * 1.28)


def paragraph(x: float, y: float, lines: Iterable[str], css: str) -> Iterator[Element]:
    """Draw lines of text below each other."""
    for number, line in enumerate(lines):
        yield text(x, y + line_height(css) * number + FONTS[css].size * 0.96, line, css)


def text(x: float, y: float, words: str, css: str) -> Element:
    """Draw one line of text by its baseline."""
    element = shape("text", css, x=round(x, 1), y=round(y, 1))
    element.text = _NO_XML.sub("\ufffd", words)
    return element


def moved(x: float, y: float, *ink: Element) -> Element:
    """Draw with another origin."""
    group = Element("g", {"transform": f"translate({x:g} {y:g})"})
    group.extend(ink)
    return group


def grouped(css: str, *ink: Element, title: str = "") -> Element:
    """Return a group, with a title for tooltips and screen readers if there is one."""
    group = Element("g", {"class": css})
    if title:
        group.append(Element("title"))
        group[0].text = _NO_XML.sub("\ufffd", title)
    group.extend(ink)
    return group


def shape(tag: str, css: str, **attributes: float | str) -> Element:
    """Draw a shape."""
    return Element(tag, {"class": css, **{key: f"{value}" for key, value in attributes.items()}})


def sign(data: str, css: str, x: float, y: float) -> Element:
    """Draw an icon or a mark."""
    return shape("path", css, d=data, transform=f"translate({x:g} {y:g})")


def core(css: str, x: float, y: float) -> Element:
    """Draw the sign in the circle where a run ends or fails."""
    return sign(MARKS["failure"] if css == "fails" else DOT, "core", x, y)


PILL_HEIGHT = 18


def pill_width(words: str) -> float:
    """Return the width of a text's pill."""
    return max(width(words, "badge") + 12, 19)


def pill(words: str, css: str) -> tuple[Element, Element]:
    """Draw a short text in a rounded box."""
    wide = round(pill_width(words), 1)
    box = shape("rect", f"pill {css}", width=wide, height=PILL_HEIGHT, rx=PILL_HEIGHT / 2)
    return box, text(wide / 2, 13, words, f"badge on-{css}")
