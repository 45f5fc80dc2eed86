"""Escape foreign text for Markdown, so that it stays plain text on one line."""

import re
from functools import lru_cache

from coterie.dsl.visible import one_line

_ACTIVE = re.compile(r"[\\`*~|\[\]<&]|(?<!\w)_|_(?!\w)")
"""What Markdown or HTML interprets within a line; an underscore within a word is not
interpreted.
"""


@lru_cache(maxsize=256)  # every step of a run shows the same few names
def plain(text: str) -> str:
    """Escape the text, so that Markdown shows it literally."""
    return _ACTIVE.sub(r"\\\g<0>", one_line(text))


@lru_cache(maxsize=256)
def code(text: str) -> str:
    """Return the text as a span of code; with a backtick, which would end it, as plain text."""
    return plain(text) if "`" in text else f"`{one_line(text)}`"
