"""Patterns of JSON Schema in RE2 syntax, with whitespace and `.` as in ECMA 262."""

from functools import lru_cache
from typing import Final

from coterie.dsl.regular_expressions import Pattern, pattern

_SPACES: Final = (
    r"\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}"
)
_NO_LINE_END: Final = r"[^\n\r\x{2028}\x{2029}]"


@lru_cache(maxsize=512)
def schema_pattern(text: str) -> Pattern:
    """Compile a pattern.

    Raises:
        ValueError: RE2 rejects the pattern.
    """
    return pattern(translated(text))


def translated(text: str) -> str:
    """Translate a pattern to RE2.

    Raises:
        ValueError: A class holds a character that is not whitespace.
    """
    pieces: list[str] = []
    inside = False
    position = 0
    while position < len(text):
        piece = text[position : position + (2 if text[position] == "\\" else 1)]
        position += len(piece)
        match piece:
            case "\\s":
                pieces.append(_SPACES if inside else f"[{_SPACES}]")
            case "\\S" if inside:
                raise ValueError(r"`\S` inside `[...]` is not supported")
            case "\\S":
                pieces.append(f"[^{_SPACES}]")
            case "." if not inside:
                pieces.append(_NO_LINE_END)
            case _:
                inside = piece == "[" or (inside and piece != "]")
                pieces.append(piece)
    return "".join(pieces)
