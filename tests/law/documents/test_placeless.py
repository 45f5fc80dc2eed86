"""Nothing that is tracked tells on which machine it was made: no path of it, no host name."""

import base64
import json
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import cast

from coterie.dsl.values import JsonValue
from tests.law.sources import ROOT
from tests.replay.placeless import WORKER, placeless
from tests.replay.record import HISTORIES

PLACES = {
    "an installed package": re.compile(r"(?:/[\w.-]+)+/(?:site-packages|\.pyenv)\b"),
    "this checkout": re.compile(re.escape(f"{ROOT}/")),
    "the home folder": re.compile(re.escape(f"{Path.home()}/")),
    "a process on a host": re.compile(r"\b\d{2,}@[A-Za-z][\w.-]*"),
    "this host": re.compile(rf"@{re.escape(socket.gethostname())}\b"),
}


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    files = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return [file for file in files if file.is_file()]


def places(text: str) -> list[str]:
    """What the text tells of a machine."""
    return [f"{what}: {m[0]}" for what, one in PLACES.items() for m in one.finditer(text)]


def texts(value: JsonValue) -> Iterator[str]:
    """Every text of a history, decoded where it is the data of a payload."""
    match value:
        case dict():
            for key, one in value.items():
                if key == "data" and isinstance(one, str):
                    yield base64.b64decode(one).decode(errors="replace")
                else:
                    yield from texts(one)
        case list():
            for one in value:
                yield from texts(one)
        case str():
            yield value
        case _:
            pass


def identities(value: JsonValue) -> Iterator[JsonValue]:
    match value:
        case dict():
            for key, one in value.items():
                if key == "identity":
                    yield one
                yield from identities(one)
        case list():
            for one in value:
                yield from identities(one)
        case _:
            pass


def test_no_tracked_file_tells_of_a_machine() -> None:
    found: dict[str, list[str]] = {}
    for file in tracked():
        with suppress(UnicodeDecodeError):  # it is no text
            if told := places(file.read_text(encoding="utf-8")):
                found[str(file.relative_to(ROOT))] = told
    assert found == {}


def test_no_history_tells_of_a_machine_in_its_payloads() -> None:
    for file in sorted(HISTORIES.glob("*.json")):
        history = cast("JsonValue", json.loads(file.read_text()))
        assert [told for text in texts(history) for told in places(text)] == [], file.name
        assert set(identities(history)) == {WORKER}, file.name


def test_what_is_recorded_loses_its_machine_and_keeps_what_belongs_together() -> None:
    process = f"{12}@here"
    run = "0b5c7a9e-1111-4222-8333-944444444444"
    data = base64.b64encode(f'{{"run":"{run}"}}'.encode()).decode()
    failure: JsonValue = {"message": "no", "stackTrace": f"{ROOT}/a.py"}
    link: JsonValue = {"identity": process, "runId": run, "failure": failure, "data": data}
    (cleaned,) = placeless([link], {})
    number = "00000000-0000-4000-8000-000000000001"
    assert cleaned == {
        "identity": WORKER,
        "runId": number,
        "failure": {"message": "no"},
        "data": base64.b64encode(f'{{"run":"{number}"}}'.encode()).decode(),
    }
    assert len(places(f"{ROOT}/a.py, {process}")) == 2
