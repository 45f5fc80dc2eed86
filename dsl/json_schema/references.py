"""References within a schema: `#`, `#/$defs/<name>`, `#/definitions/<name>`, `#<anchor>`. Pure."""

import re
from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from dsl.values import Json

_DEFINITION: Final = re.compile(r"#(/(\$defs|definitions)/[^/%]+)?")
_ANCHOR: Final = re.compile(r"#[A-Za-z_][\w.-]*")


def is_own(reference: str, *, anchors: bool = False) -> bool:
    """Whether a reference stays in its schema.

    Args:
        reference: As the schema has it.
        anchors: Whether it may name an anchor; checks inside a run do not follow those.
    """
    if _DEFINITION.fullmatch(reference):
        return True
    return anchors and _ANCHOR.fullmatch(reference) is not None


def target_of(schema: Json, reference: str, anchors: Mapping[str, Json]) -> JsonValue:
    """Return what a reference of the schema's own leads to; None when it leads nowhere.

    Args:
        schema: The whole schema.
        reference: Begins with `#`.
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
