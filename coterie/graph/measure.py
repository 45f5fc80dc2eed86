"""How wide a text is, and where to break it, without a font at hand.

The widths are those of Helvetica and of every font that is made to replace it (Arial, Liberation
Sans, Nimbus Sans); the SVG names these fonts and fixes each text's length, so that another font
cannot make texts overlap.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping

_REGULAR = {
    191: "'", 222: "ijl", 260: "|", 278: " !,./:;I[\\]ft·", 333: "()-`r", 334: "{}", 350: "•",
    355: '"', 389: "*", 469: "^", 500: "Jcksvxyzç", 549: "≤≥≠",
    556: "#$0123456789?L_abdeghnopquäöüéèàñ", 584: "+<=>~", 611: "FTZß", 667: "&ABEKPSVXYÄ",
    722: "CDHNRUwÜ", 778: "GOQÖ", 833: "Mm", 889: "%", 944: "W", 1000: "…→←—", 1015: "@",
}  # fmt: skip
_BOLD = {
    238: "'", 278: " ,./I\\ijl·", 280: "|", 333: "!()-:;[]`ft", 350: "•", 389: "*r{}", 474: '"',
    500: "z", 549: "≤≥≠", 556: "#$0123456789J_aceksvxyäéèàç", 584: "+<=>^~",
    611: "?FLTZbdghnopquöüßñ", 667: "EPSVXY", 722: "&ABCDHKNRUÄÜ", 778: "GOQwÖ", 833: "M",
    889: "%m", 944: "W", 975: "@", 1000: "…→←—",
}  # fmt: skip
_OTHER = 640
"""For what the tables have not: most letters of other alphabets are narrower."""
_PIECE = re.compile(r"\S*\s+|\S+")
_NAME_PIECE = re.compile(r"[^._/-]*[._/-]+|[^._/-]+")


def _table(groups: Mapping[int, str]) -> dict[str, int]:
    return {character: width for width, all_of in groups.items() for character in all_of}


_TABLES = {False: _table(_REGULAR), True: _table(_BOLD)}


def width(text: str, size: float, *, bold: bool = False) -> float:
    """The width of one line in pixels, at a font size in pixels."""
    table = _TABLES[bold]
    return sum(table.get(character) or _other(character) for character in text) * size / 1000


def _other(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 1000 if unicodedata.east_asian_width(character) in ("W", "F") else _OTHER


def widest(lines: Iterable[str], size: float, *, bold: bool = False) -> float:
    """The width of the widest line; 0 when there is none."""
    return max((width(line, size, bold=bold) for line in lines), default=0.0)


def cut(text: str, most: float, size: float, *, bold: bool = False) -> str:
    """The text, with an ellipsis where it would be wider than `most` pixels."""
    if width(text, size, bold=bold) <= most:
        return text
    kept = text
    while kept and width(f"{kept}…", size, bold=bold) > most:
        kept = kept[:-1]
    return f"{kept.rstrip()}…"


def wrapped(text: str, most: float, size: float, *, lines: int, bold: bool = False) -> list[str]:
    """The text in lines of at most `most` pixels; the last of `lines` is cut when more follow.

    Breaks after blanks; in a name that is too long for a line, after dots, dashes and the like.
    """
    made: list[str] = []
    line = ""
    for part in _parts(text, lambda word: width(word, size, bold=bold) > most):
        if line and width((line + part).rstrip(), size, bold=bold) > most:
            made.append(line)
            line = ""
        line += part
    made.append(line)
    if len(made) > lines:
        made = [*made[: lines - 1], "".join(made[lines - 1 :])]
    return [cut(one.strip(), most, size, bold=bold) for one in made if one.strip()]


def _parts(text: str, too_wide: Callable[[str], bool]) -> Iterator[str]:
    """Pieces that stay together, each with what it may be broken after."""
    for word in _PIECE.findall(text):
        if too_wide(word):
            yield from _NAME_PIECE.findall(word)
        else:
            yield word
