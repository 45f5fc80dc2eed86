"""Text of others within Markdown that we write: it stays text, and within its line."""

import re
from functools import lru_cache

from dsl.visible import one_line

_ACTIVE = re.compile(r"[\\`*~|\[\]<&]|(?<!\w)_|_(?!\w)")
"""What Markdown or HTML takes as its own within a line; an underscore within a word is none."""


@lru_cache(maxsize=256)  # every step of a run shows the same few names
def plain(text: str) -> str:
    """Return the text so that Markdown shows it as it is."""
    return _ACTIVE.sub(r"\\\g<0>", one_line(text))


@lru_cache(maxsize=256)
def code(text: str) -> str:
    """Return the text as a span of code; one that holds a backtick would end it, and is plain."""
    return plain(text) if "`" in text else f"`{one_line(text)}`"
