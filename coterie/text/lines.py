"""Print lines with other people's text so that none of it can pass for a line of ours."""

from collections.abc import Iterable

from coterie.dsl.visible import visible

_QUOTED = "  > "
"""Prefix of each line of a prompt."""
_FURTHER = "        | "
"""Prefix of continuation lines of a single-line entry."""


def text_of(lines: Iterable[str]) -> str:
    """Join lines; put line breaks within a line behind a margin that our own lines never have."""
    return "\n".join(one_entry(line) for line in lines)


def one_entry(line: str) -> str:
    """Put the line breaks within a line behind the margin."""
    if "\n" not in line:
        return visible(line)
    first, *further = visible(line).split("\n")
    rest = (part if part.startswith(_FURTHER) else f"{_FURTHER}{part}" for part in further)
    return "\n".join((first, *rest))


def prompt_lines(prompt: str) -> list[str]:
    """Quote a question that other people worded."""
    return [f"{_QUOTED}{line}" for line in visible(prompt).split("\n")]
