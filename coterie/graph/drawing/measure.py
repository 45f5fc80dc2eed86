# ruff: noqa: RUF001  # letters of several alphabets that look alike
"""Measure and break texts without a font at hand.

A text gets the room that it needs in DejaVu Sans, the widest common font: a machine without
Helvetica and its clones uses such a font.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator

from coterie.graph.drawing.style import FONTS

_BOLD = {
    325: "'",
    350: " ijıі",
    375: "/I\\|łΙІ",
    400: ",.:;·ι‘’",
    425: "-‹›",
    450: "fſ",
    475: "!()[]",
    500: "lrtŧ",
    525: '"',
    550: "*`–",
    575: "Jŀ",
    600: "_cszεζгзсэє",
    625: "?ξ",
    650: "LxĿŁΓλςχвтхь•",
    675: "akvy«»ĸτГауя“”",
    700: "$0123456789FTeoðøĳŦΕΞΣΤγδθνουЕТбекоч",
    725: "ESYbdghnpqu{}ßþđŋΥαβηκρЗинпр",
    750: "PZÞĲΖΡμЄРСЭлц",
    775: "ABCKRVXΑΒΔΚΛΧАБВУХЬЯъ",
    800: "ħπσφψ",
    825: "UКЧд",
    850: "DGHNÐĐŊΗΝΠИЛНПм",
    875: "&OQØΘΟΦΨΩО",
    900: "Д",
    925: "#+<=>^w~×÷ωы≤≥",
    950: "ЦЪ",
    975: "ю",
    1000: "MĦŉΜМФжф",
    1050: "%Ы",
    1075: "mæш—…←→",
    1100: "@Æœ",
    1125: "Wщ",
    1175: "Œ",
    1200: "Ю",
    1225: "Ж",
    1250: "Ш",
}
"""Widths of bold characters, in thousandths of the font size; letters without their accents."""
_WIDTHS = {character: width for width, all_of in _BOLD.items() for character in all_of}
_REGULAR = 0.925
"""Width of a character that is not bold, at most."""
_OTHER = 1350
_CHINESE = re.compile("[\u2e80-\ud7ff\uf900-\uffef]")
"""Characters of China, Japan and Korea are as wide as the font is high."""
_PIECE = re.compile(r"\S*\s+|\S+")
_NAME_PIECE = re.compile(r"[^._/-]*[._/-]+|[^._/-]+")


def width(text: str, css: str) -> float:
    """Return the room in pixels that one line of a class of text needs, whatever the font."""
    font = FONTS[css]
    wide = sum(
        _WIDTHS.get(character) or (1000 if _CHINESE.match(character) else _OTHER)
        for character in unicodedata.normalize("NFD", text)
        if not unicodedata.combining(character)
    )
    return wide * font.size * (1 if font.bold else _REGULAR) / 1000


def widest(lines: Iterable[str], css: str) -> float:
    """Return the width of the widest line; 0 if there is none."""
    return max((width(line, css) for line in lines), default=0.0)


def cut(text: str, maximum: float, css: str) -> str:
    """Shorten the text with an ellipsis to at most `maximum` pixels."""
    if width(text, css) <= maximum:
        return text
    head = text
    while head and width(f"{head}…", css) > maximum:
        head = head[:-1]
    return f"{head.rstrip()}…"


def wrapped(text: str, maximum: float, css: str, *, lines: int) -> list[str]:
    """Break the text into lines of at most `maximum` pixels; shorten the last of `lines` lines.

    Break after blanks; in a name that is too long, after dots, dashes and the like.
    """
    rows: list[str] = []
    line = ""
    for part in _parts(text, lambda word: width(word, css) > maximum):
        if line and width((line + part).rstrip(), css) > maximum:
            rows.append(line)
            line = ""
        line += part
    rows.append(line)
    if len(rows) > lines:
        rows = [*rows[: lines - 1], "".join(rows[lines - 1 :])]
    return [cut(row.strip(), maximum, css) for row in rows if row.strip()]


def _parts(text: str, too_wide: Callable[[str], bool]) -> Iterator[str]:
    """Yield pieces that stay together, each with the break after it."""
    for word in _PIECE.findall(text):
        if too_wide(word):
            yield from _NAME_PIECE.findall(word)
        else:
            yield word
