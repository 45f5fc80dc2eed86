"""References within a schema: `#`, `#/$defs/<name>`, `#/definitions/<name>`, `#<anchor>`. Pure."""

import re
from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from coterie.dsl.values import Json

_OWN: Final = re.compile(r"#(/(\$defs|definitions)/[^/%]+|[A-Za-z_][\w.-]*)?")


def is_own(reference: str) -> bool:
    """Return whether a reference stays within its schema."""
    return _OWN.fullmatch(reference) is not None


def target_of(schema: Json, reference: str, anchors: Mapping[str, Json]) -> JsonValue:
    """Return the target of a reference within the schema, or None when it has none.

    Args:
        schema: The whole schema.
        reference: A reference that begins with `#`.
        anchors: `{anchor: its schema}`.
    """
    if reference == "#":
        return schema
    if not reference.startswith("#/"):
        return anchors.get(reference[1:])
    below: JsonValue = schema
    for part in reference.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        below = below.get(name) if isinstance(below, dict) else None
    return below
