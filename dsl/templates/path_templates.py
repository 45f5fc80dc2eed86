"""Paths with templates in them: `progress.{{ task.id }}.status`.

The filled part is one segment, whatever dots it has.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from coterie.dsl.errors import TemplateFailed
from coterie.dsl.paths import Path, parse, path_text
from coterie.dsl.templates.template import is_template
from coterie.dsl.templates.template_filling import fill

_PIECES = re.compile(r"(\{\{.*?\}\})", re.DOTALL)


@lru_cache(maxsize=4096)
def key_segments(key: str) -> Path:
    """Split a key into segments; templates in them stay templates."""
    if not is_template(key):
        return parse(key)
    segments = [""]
    for number, piece in enumerate(_PIECES.split(key)):
        if number % 2:
            segments[-1] += piece
            continue
        first, *further = piece.split(".")
        segments[-1] += first
        segments += further
    return tuple(segments)


def fixed_part(key: str) -> Path:
    """Return the segments of a key before the first one with a template."""
    segments = key_segments(key)
    for number, segment in enumerate(segments):
        if is_template(segment):
            return segments[:number]
    return segments


def fill_path(key: str, names: Mapping[str, object]) -> str:
    """Render the path that a key gives; what a template gives is one segment.

    Raises:
        TemplateFailed: a template cannot be filled, or gives neither a text nor a number.
    """
    if not is_template(key):
        return key
    return path_text(tuple(_segment(segment, key, names) for segment in key_segments(key)))


def _segment(segment: str, key: str, names: Mapping[str, object]) -> str:
    filled = fill(segment, names)
    if isinstance(filled, bool) or not isinstance(filled, str | int) or filled == "":
        raise TemplateFailed(f"{key!r} has no path: {segment} gives neither a text nor a number")
    return str(filled)
