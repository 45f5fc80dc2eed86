"""Regular expressions in linear time: RE2, whatever the pattern and the text (decision 0004)."""

from functools import lru_cache
from typing import Protocol, cast

import re2  # pyright: ignore[reportMissingTypeStubs]  # the library carries no types


class Pattern(Protocol):
    """A compiled regular expression."""

    programsize: int
    """How many instructions it has; each may be at work on each character."""

    def search(self, text: str) -> object | None:
        """The first match, or None."""
        ...


@lru_cache(maxsize=512)
def pattern(text: str) -> Pattern:
    """The compiled expression.

    Raises:
        ValueError: RE2 does not take it; it has no look-around and no back references.
    """
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 1 << 20
    try:
        return cast("Pattern", re2.compile(text, options))  # pyright: ignore
    except re2.error as error:  # pyright: ignore
        reason: object = error.args[0] if error.args else error  # pyright: ignore
        message = reason.decode() if isinstance(reason, bytes) else str(reason)  # pyright: ignore
        raise ValueError(message) from None


_COMPILED = 200
"""Steps to compile an expression, or to find it compiled."""


def match_steps(text: str, searched: str) -> int:
    """Steps of a search: RE2 may look at each instruction for each character.

    An expression that RE2 does not take costs its compilation alone.
    """
    try:
        size = pattern(text).programsize
    except ValueError:
        return _COMPILED
    return _COMPILED + (len(searched) * size >> 6)
