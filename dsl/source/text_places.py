"""Lines and columns of a text, as editors count them."""

from bisect import bisect_right
from itertools import accumulate
from typing import Protocol

from dsl.source.nodes import Mark


class RawMark(Protocol):
    """The common part of YAML's two kinds of marks."""

    index: int


class TextPlaces:
    """Lines and columns as editors count them: YAML 1.1 breaks lines at more characters."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.lines = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self.lines)]

    def at(self, raw: "RawMark | None") -> Mark:
        """Return the position of one of YAML's marks."""
        return self.of(raw.index if raw is not None else 0)

    def of(self, index: int) -> Mark:
        """Return the position of a character."""
        line = bisect_right(self._starts, index)
        return Mark(self.file, line, index - self._starts[line - 1] + 1)
