"""Sizes of values, and their limits."""

from collections.abc import Iterable
from typing import Final

from pydantic_core import to_json

from coterie.dsl.errors import ValueTooLarge
from coterie.dsl.values import JsonValue

MAX_VALUE_SIZE = 2_000_000
"""Bytes of JSON of anything that travels: a request, an answer, a message, a result, the state of a
run that continues as new. Temporal accepts 2 MiB; one number for all is easy to know.
"""


_NUMBERS: Final = frozenset({int, float, bool})


def json_size(value: JsonValue) -> int:
    """Return the bytes of a value's JSON; 0 if it has none, which the sender finds out."""
    if value is None or type(value) in _NUMBERS:
        return 8
    try:
        return len(to_json(value))
    except ValueError:
        return 0


def exceeds(values: Iterable[JsonValue], maximum: int) -> bool:
    """Return whether the JSON of all values together certainly has more than `maximum` bytes.

    It reads no further than that, however large they are, and counts a shared part each time.
    """
    size, level = 0, list(values)
    while level:  # the outside first: the length of a list is nearly the answer
        below: list[JsonValue] = []
        for value in level:
            size += 1
            match value:
                case str():
                    size += len(value)
                case list():
                    size += 2 * len(value)
                    below.extend(value if size <= maximum else ())
                case dict():
                    size += sum(map(len, value)) + 4 * len(value)
                    below.extend(value.values() if size <= maximum else ())
                case _:
                    pass
            if size > maximum:
                return True
        level = below
        size -= len(below)  # each was counted with its container
    return False


MAX_SHOWN = 500_000
"""Bytes of JSON of what a request shows to a person: one answer contains several requests."""

MAX_SIGNALLED = 1_000_000
"""Bytes of JSON of the signals of one name for which no step has waited yet."""

MAX_ID_SIZE = 1_000
"""Bytes of the id of a run, as the server's `limit.maxIDLength`."""

MAX_BY_LENGTH = 200
"""Characters of a person's name in a message, which the run keeps and repeats."""

MAX_WHY_LENGTH = 10_000
"""Characters of the reason."""

MAX_SAID_LENGTH = 10_000
"""Characters of one message to an agent."""

MAX_NAME_LENGTH = 500
"""Characters of the name of a request, a task, a team."""


def too_large(value: JsonValue, what: str, maximum: int = MAX_VALUE_SIZE) -> str | None:
    """Return why a value is too large to travel, or None."""
    if isinstance(value, str) and len(value) < maximum // 6:  # an escaped character has six bytes
        return None
    size = json_size(value)
    return None if size <= maximum else f"{what} has {size:,} bytes, and {maximum:,} are allowed"


def check_size(value: JsonValue, what: str, maximum: int = MAX_VALUE_SIZE) -> None:
    """Refuse a value that is too large to travel.

    Raises:
        ValueTooLarge: names the value.
    """
    refusal = too_large(value, what, maximum)
    if refusal is not None:
        raise ValueTooLarge(refusal)
