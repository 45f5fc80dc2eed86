"""Takes the place of the recording out of histories: no path, no host, no id of chance.

A replay reads none of them but the id of the execution, which the run already sees by its number
when it is recorded. So two recordings of a case differ only in their moments.
"""

import base64
import re
from collections.abc import Mapping, Sequence

from coterie.dsl.values import JsonValue

WORKER = "worker"
"""The identity of everything that takes part in a recording."""

_NUMBER = "00000000-0000-4000-8000-"
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def placeless(links: Sequence[JsonValue], executions: Mapping[str, str]) -> list[JsonValue]:
    """Return the histories of one run without anything that tells where they were recorded.

    Args:
        links: The histories.
        executions: `{random id: its number}` of the executions that are already numbered.
    """
    ids = dict(executions)
    return [_cleaned(link, ids, "") for link in links]


def number_of(id: str, ids: dict[str, str]) -> str:
    """Return the number of a random id; a new one gets the next number, and a number stays."""
    if id.startswith(_NUMBER):
        return id
    return ids.setdefault(id, f"{_NUMBER}{len(ids) + 1:012}")


def _cleaned(value: JsonValue, ids: dict[str, str], key: str) -> JsonValue:
    match value:
        case dict():
            return {
                name: _cleaned(one, ids, name)
                for name, one in value.items()
                if name != "stackTrace"  # it has the paths of the machine
            }
        case list():
            return [_cleaned(one, ids, key) for one in value]
        case str() if key == "identity":
            return WORKER
        case str() if key == "data":
            return _payload(value, ids)
        case str():
            return _numbered(value, ids)
        case _:
            return value


def _payload(encoded: str, ids: dict[str, str]) -> str:
    """Return the data of a payload with numbered ids; data that is no text stays."""
    try:
        text = base64.b64decode(encoded, validate=True).decode()
    except ValueError:
        return encoded
    return base64.b64encode(_numbered(text, ids).encode()).decode()


def _numbered(text: str, ids: dict[str, str]) -> str:
    """Return the text with each random id replaced by its number of appearance."""
    return _UUID.sub(lambda found: number_of(found[0], ids), text)
