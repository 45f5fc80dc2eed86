"""Strip what models put around a text: fences, blank lines, CR."""

import re

_FENCE = re.compile(r"^(`{3,}(?!`)(?=[^`]*$)|~{3,}(?=[\w+-]*\s*$))(.*)$")
"""The marks of a fence and its info, like `c#` or `python title=a.py`; CommonMark allows any text
after backticks. Lines of tildes are also headings of RST, which have none."""


class UnclosedFence(Exception):
    """The text starts with a code fence that is never closed, so its content is unclear."""


def unfenced(text: str) -> list[str]:
    """Strip CR, blank lines at both ends, and a fence around the whole text.

    A fence that closes before the last line is part of the text, as in a README that starts with an
    example.

    Raises:
        UnclosedFence: The first line opens a fence that is never closed.
    """
    lines = _bare_lines(text)
    if not (lines and _FENCE.match(lines[0])):
        return lines
    closing = _closing_fence(lines)
    if closing is None:
        raise UnclosedFence
    if any(line.strip() for line in lines[closing + 1 :]):
        return lines
    return lines[1:closing]


def unfenced_diff(text: str) -> list[str]:
    """Strip CR, blank lines at both ends, and a fence with optional prose after it, from a diff.

    No line of a diff starts with a fence, so an unclosed one is stripped too.
    """
    lines = _bare_lines(text)
    fence = _FENCE.match(lines[0]) if lines else None
    return _until_fence(lines[1:], fence[1]) if fence else lines


def without_trailing_blanks(lines: list[str]) -> list[str]:
    """Strip empty lines at the end, which are mostly layout."""
    end = len(lines)
    while end and not lines[end - 1]:
        end -= 1
    return lines[:end]


def _bare_lines(text: str) -> list[str]:
    lines = without_trailing_blanks(text.replace("\r\n", "\n").removeprefix("\ufeff").split("\n"))
    while lines and not lines[0].strip():
        lines = lines[1:]
    return lines


def _closing_fence(lines: list[str]) -> int | None:
    """Find where the fence of the first line closes.

    Within it, a fence with a language name opens another one; a bare fence closes the latest.
    """
    open_fences: list[str] = []
    for at, line in enumerate(lines):
        fence = _FENCE.match(line)
        if fence is None:
            continue
        marks, language = fence[1], fence[2].strip()
        if not open_fences or language:
            open_fences.append(marks)
        elif marks.startswith(open_fences[-1]):
            open_fences.pop()
            if not open_fences:
                return at
    return None


def _until_fence(lines: list[str], fence: str) -> list[str]:
    """Return the lines before the closing fence if only prose follows it."""
    for at, line in reversed([*enumerate(lines)]):
        if line.rstrip() == fence:
            return lines[:at]
        if line.startswith(("+", "-", "@", " ")):
            break
    return lines
