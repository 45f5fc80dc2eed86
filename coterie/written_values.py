"""Values that people write as text: typed by a declaration, else as YAML 1.2 reads them.

Every way in uses `read_written`: `--set` of all commands, and answers at the terminal.
"""

import json
from typing import NamedTuple

from pydantic import JsonValue

from coterie.dsl.evaluate.declared_values import value_problems
from coterie.dsl.model.context.declarations import DeclaredPath
from coterie.dsl.source.yaml_reader import UnreadableScalar, plain_scalar
from coterie.dsl.strict_json import JsonRefused, read_json
from coterie.dsl.visible import is_unicode
from coterie.failures import CommandError
from coterie.terminal import note

_DEFECTS = {
    "too_large": "it is too large for a number",
    "not_json": "JSON has no such number",
    "not_a_number": "it is not a number",
    "not_a_boolean": "it is neither true nor false",
}
_CLOSED = {"{": "}", "[": "]", '"': '"'}


class _Reading(NamedTuple):
    """What a text can mean."""

    value: JsonValue
    """Its meaning without a declaration."""
    other: JsonValue
    """Its meaning where a declaration refuses the first."""
    note: str = ""
    """Why it is a text although it looks like another value."""


def read_written(name: str, text: str, one: DeclaredPath | None = None) -> JsonValue:
    """Return the value that a person means by a text.

    A declared type decides. Otherwise `{...}`, `[...]` and `"..."` are JSON, and all else is what
    YAML 1.2 reads without quotes, unless that changes the text: `1.10`, `007`, `1e5` and `True`
    stay texts, and a note says so.

    Args:
        name: Of the value, for messages.
        text: As written.
        one: The declaration of its path.

    Raises:
        CommandError: It is not UTF-8, or JSON that parsers read differently.
    """
    if not is_unicode(text):
        raise CommandError(f"the value of {name!r} is not UTF-8 text")
    types = _types(one)
    try:
        reading = _reading(text)
    except JsonRefused as error:
        if types == {"string"}:
            return text
        raise CommandError(f"the value of {name!r}: {error}") from None
    value = reading.value if one is None else _choose_meaning(reading, one, types)
    if reading.note and not types and value == text:
        note(f"{name} stays the text {text!r}: {reading.note}")
    return value


def _types(one: DeclaredPath | None) -> set[str]:
    """Return the types that a declaration names; empty if it names none."""
    if one is None:
        return set()
    match one.schema_.get("type"):
        case list() as several:
            return {name for name in several if isinstance(name, str)}
        case str() as name:
            return {name}
        case _:
            return set()


def _choose_meaning(reading: _Reading, one: DeclaredPath, types: set[str]) -> JsonValue:
    """Return the likeliest meaning that the path can hold; if it holds none, the likeliest."""
    order = [reading.value, reading.other]
    if types == {"string"}:
        order.sort(key=lambda value: not isinstance(value, str))
    elif types and "string" not in types:
        order.sort(key=lambda value: isinstance(value, str))
    return next((value for value in order if not value_problems("", value, one)), order[0])


def _reading(text: str) -> _Reading:
    """Read a text without a declaration.

    Raises:
        JsonRefused: It is JSON that parsers read differently.
    """
    bare = text.strip()
    if bare[:1] in _CLOSED:
        try:
            return _Reading(read_json(bare), text)
        except JsonRefused:
            raise
        except ValueError as error:
            closed = len(bare) > 1 and bare.endswith(_CLOSED[bare[0]])
            return _Reading(text, text, f"it is not JSON ({error})" if closed else "")
    if not text:
        return _Reading(text, None)
    try:
        value = plain_scalar(text)
    except UnreadableScalar as error:
        return _Reading(text, text, _DEFECTS[error.defect])
    written = value if isinstance(value, str) else json.dumps(value)
    if written == text:
        return _Reading(value, text)
    return _Reading(text, value, f"YAML would read {written}; for that value, write {written}")
