"""Regular expressions in linear time for every pattern and text, with RE2."""

from functools import lru_cache
from typing import Protocol, cast

import re2  # pyright: ignore[reportMissingTypeStubs]  # the library carries no types


class Pattern(Protocol):
    """A compiled regular expression."""

    programsize: int
    """The number of its instructions; each may look at each character."""

    def search(self, text: str) -> object | None:
        """Return the first match, or None."""
        ...


@lru_cache(maxsize=512)
def pattern(text: str) -> Pattern:
    """Return the compiled expression.

    Raises:
        ValueError: RE2 refuses it; it has no look-around and no back references.
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
"""Steps to compile an expression, or to find it in the cache."""


def match_steps(text: str, searched: str) -> int:
    """Return the steps of a search: RE2 may look at each instruction for each character.

    An expression that RE2 refuses costs only its compilation.
    """
    try:
        size = pattern(text).programsize
    except ValueError:
        return _COMPILED
    return _COMPILED + (len(searched) * size >> 6)
