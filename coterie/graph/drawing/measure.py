"""Measure and break texts without a font at hand.

The SVG fixes each text's length to the width in Helvetica and its clones (Arial, Liberation Sans,
Nimbus Sans). Boxes have room for the widest common font, because some programs have none of these
and ignore the length.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping

from coterie.graph.drawing import fallback

_REGULAR = {
    191: "'",
    222: "ijl",
    260: "|",
    278: " !,./:;I[\\]ft·",
    333: "()-`r",
    334: "{}",
    350: "•",
    355: '"',
    389: "*",
    469: "^",
    500: "Jcksvxyzç",
    549: "≤≥≠",
    556: "#$0123456789?L_abdeghnopquäöüéèàñ",
    584: "+<=>~",
    611: "FTZß",
    667: "&ABEKPSVXYÄ",
    722: "CDHNRUwÜ",
    778: "GOQÖ",
    833: "Mm",
    889: "%",
    944: "W",
    1000: "…→←—",
    1015: "@",
}
_BOLD = {
    238: "'",
    278: " ,./I\\ijl·",
    280: "|",
    333: "!()-:;[]`ft",
    350: "•",
    389: "*r{}",
    474: '"',
    500: "z",
    549: "≤≥≠",
    556: "#$0123456789J_aceksvxyäéèàç",
    584: "+<=>^~",
    611: "?FLTZbdghnopquöüßñ",
    667: "EPSVXY",
    722: "&ABCDHKNRUÄÜ",
    778: "GOQwÖ",
    833: "M",
    889: "%m",
    944: "W",
    975: "@",
    1000: "…→←—",
}
_OTHER = 640
"""Default width: most letters of other alphabets are narrower."""
_MAX_OTHER_WIDTH = 1350
"""Default width in the fallback font."""
_EMOJI = "\U0001f000"
"""From here on characters are wider than Chinese ones."""
_PIECE = re.compile(r"\S*\s+|\S+")
_NAME_PIECE = re.compile(r"[^._/-]*[._/-]+|[^._/-]+")


def _table(groups: Mapping[int, str]) -> dict[str, int]:
    return {character: width for width, all_of in groups.items() for character in all_of}


_TABLES = {False: _table(_REGULAR), True: _table(_BOLD)}
_FALLBACK = {False: _table(fallback.REGULAR), True: _table(fallback.BOLD)}


def drawn_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the drawn width of a line in pixels, at a font size in pixels."""
    table = _TABLES[bold]
    widths = (table.get(character) or _other(character, _OTHER) for character in text)
    return sum(widths) * size / 1000


def width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the room in pixels that one line needs, whatever the font."""
    table, wide = _TABLES[bold], _FALLBACK[bold]
    widths = (
        max(table.get(character, 0), wide.get(character) or _other(character, _MAX_OTHER_WIDTH))
        for character in text
    )
    return sum(widths) * size / 1000


def _other(character: str, usual: int) -> int:
    if unicodedata.combining(character):
        return 0
    if character >= _EMOJI:
        return 1350
    return 1000 if unicodedata.east_asian_width(character) in ("W", "F") else usual


def widest(lines: Iterable[str], size: float, *, bold: bool = False) -> float:
    """Return the width of the widest line; 0 if there is none."""
    return max((width(line, size, bold=bold) for line in lines), default=0.0)


def cut(text: str, maximum: float, size: float, *, bold: bool = False) -> str:
    """Shorten the text with an ellipsis to at most `maximum` pixels."""
    if width(text, size, bold=bold) <= maximum:
        return text
    kept = text
    while kept and width(f"{kept}…", size, bold=bold) > maximum:
        kept = kept[:-1]
    return f"{kept.rstrip()}…"


def wrapped(text: str, maximum: float, size: float, *, lines: int, bold: bool = False) -> list[str]:
    """Break the text into lines of at most `maximum` pixels; shorten the last of `lines` lines.

    Break after blanks; in a name that is too long, after dots, dashes and the like.
    """
    made: list[str] = []
    line = ""
    for part in _parts(text, lambda word: width(word, size, bold=bold) > maximum):
        if line and width((line + part).rstrip(), size, bold=bold) > maximum:
            made.append(line)
            line = ""
        line += part
    made.append(line)
    if len(made) > lines:
        made = [*made[: lines - 1], "".join(made[lines - 1 :])]
    return [cut(one.strip(), maximum, size, bold=bold) for one in made if one.strip()]


def _parts(text: str, too_wide: Callable[[str], bool]) -> Iterator[str]:
    """Yield pieces that stay together, each with the break after it."""
    for word in _PIECE.findall(text):
        if too_wide(word):
            yield from _NAME_PIECE.findall(word)
        else:
            yield word
