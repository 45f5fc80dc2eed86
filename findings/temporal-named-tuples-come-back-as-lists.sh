#!/usr/bin/env bash
# The default converter of temporalio decodes by type hints: dataclasses, enums, sets and keys of
# mappings come back as their types, and a value that does not fit its hint is an error. A NamedTuple
# comes back as a plain list, without an error, so `.name` fails later, in the code of the workflow.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check temporalio==1.35.0
cat >"$folder/hints.py" <<'PYTHON'
import asyncio
from dataclasses import dataclass
from importlib.metadata import version
from typing import NamedTuple

from temporalio.converter import DataConverter


class Place(NamedTuple):
    name: str
    floor: int


@dataclass
class Room:
    name: str
    floor: int


async def there_and_back(value: object, hint: object) -> object:
    payloads = await DataConverter.default.encode([value])
    (decoded,) = await DataConverter.default.decode(payloads, [hint])
    return decoded


async def main() -> None:
    room = await there_and_back(Room("lab", 2), Room)
    keys = await there_and_back({1: {2}}, dict[int, set[int]])
    place = await there_and_back(Place("lab", 2), Place)
    try:
        wrong = str(await there_and_back(["lab", 2], Room))
    except TypeError as error:
        wrong = type(error).__name__
    print("temporalio", version("temporalio"))
    print(f"a dataclass: {room}; nested types: {keys}; a list for a dataclass: {wrong}")
    print(f"a NamedTuple: {type(place).__name__} {place}")
    assert (room, keys, wrong) == (Room("lab", 2), {1: {2}}, "TypeError")
    assert type(place) is list and place == ["lab", 2], "the behaviour has changed"


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/hints.py"
