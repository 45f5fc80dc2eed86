"""Read what others have encoded: JSON that is small enough, and not encrypted. Pure."""

from coterie.dsl.json_schema.schema_checker import answer_mismatches
from coterie.dsl.strict_json import read_json
from coterie.dsl.values import Json, JsonValue

MAX_FOREIGN_SIZE = 1_000_000
"""Bytes of a result: it stands in the run's history, and what the run remembers must travel."""

_JSON = (b"json/plain", b"json/protobuf")
_NULL = b"binary/null"
_MAX_NAME = 60


class UnusableValue(Exception):
    """A value that a run cannot take; the message says why."""


def foreign_value(data: bytes | None, encoding: bytes, schema: Json) -> JsonValue:
    """Return the value of a payload.

    Args:
        data: Of the payload; None if there is none.
        encoding: As the payload names it.
        schema: What the value must match; empty for any.

    Raises:
        UnusableValue: It is encrypted, too large, no JSON, or does not match.
    """
    value = _decode_value(data, encoding)
    if schema:
        problems = answer_mismatches(value, schema)
        if problems:
            raise UnusableValue(f"it does not match its schema: {'; '.join(problems[:5])}")
    return value


def _decode_value(data: bytes | None, encoding: bytes) -> JsonValue:
    if data is None or encoding == _NULL or (not encoding and not data):
        return None
    if len(data) > MAX_FOREIGN_SIZE:
        raise UnusableValue(f"it has {len(data):,} bytes; {MAX_FOREIGN_SIZE:,} are allowed")
    if encoding not in _JSON:
        named = encoding[:_MAX_NAME].decode(errors="replace")
        raise UnusableValue(f"its encoding is {named!r}, and a run reads JSON, not encrypted")
    try:
        return read_json(data)
    except (ValueError, RecursionError) as error:
        raise UnusableValue(f"it is no JSON: {error}") from None
