"""Lines of ours that hold words of others, who cannot write a line that looks like ours."""

from collections.abc import Iterable

from dsl.visible import visible

_QUOTED = "  > "
"""Before each line of a prompt."""
_FURTHER = "        | "
"""Before each further line of what ought to be one line."""


def text_of(lines: Iterable[str]) -> str:
    """Join lines; line breaks within one of them stay behind a margin that no line of ours has."""
    return "\n".join(one_entry(line) for line in lines)


def one_entry(line: str) -> str:
    """Return the line with the line breaks within it behind the margin."""
    if "\n" not in line:
        return visible(line)
    first, *further = visible(line).split("\n")
    rest = (one if one.startswith(_FURTHER) else f"{_FURTHER}{one}" for one in further)
    return "\n".join((first, *rest))


def prompt_lines(prompt: str) -> list[str]:
    """Return a question that others worded, quoted."""
    return [f"{_QUOTED}{line}" for line in visible(prompt).split("\n")]
