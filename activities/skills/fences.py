"""Take off what models put around a text: fences, blank lines, CR."""

import re

_FENCE = re.compile(r"^(`{3,}|~{3,})[\w+-]*\s*$")


def unfenced(text: str) -> list[str]:
    """The lines of a text without CR, leading and trailing blank lines and a fence around it."""
    lines = without_trailing_blanks(text.replace("\r\n", "\n").removeprefix("\ufeff").split("\n"))
    while lines and not lines[0].strip():
        lines = lines[1:]
    fence = _FENCE.match(lines[0]) if lines else None
    return _until_fence(lines[1:], fence[1]) if fence else lines


def without_trailing_blanks(lines: list[str]) -> list[str]:
    """Empty lines at an end are layout far more often than they are meant."""
    end = len(lines)
    while end and not lines[end - 1]:
        end -= 1
    return lines[:end]


def _until_fence(lines: list[str], fence: str) -> list[str]:
    """The lines before the closing fence, if there is one and only talk comes after it."""
    for at in range(len(lines) - 1, -1, -1):
        if lines[at].rstrip() == fence:
            return lines[:at]
        if lines[at].startswith(("+", "-", "@", " ")):
            break
    return lines
