#!/usr/bin/env bash
# ruamel.yaml reads YAML 1.2 by default: `on` and `12:30` are texts and `010` is ten. But it keeps
# types that the core schema of YAML 1.2 does not have: `1_000` is a number, `0b11` is 3, and
# `2026-11-28` is a date, all of which a reader that follows the core schema gives as texts.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ruamel.yaml==0.19.1
"$folder/venv/bin/python" - <<'PYTHON'
from datetime import date
from importlib.metadata import version

from ruamel.yaml import YAML

expected = {
    "on": "on",
    "12:30": "12:30",
    "010": 10,
    "0o14": 12,
    "1_000": 1000,
    "0b11": 3,
    "6_8.5": 68.5,
    "2026-11-28": date(2026, 11, 28),
}
print("ruamel.yaml", version("ruamel.yaml"))
seen = {text: YAML(typ="safe", pure=True).load(text) for text in expected}
for text, value in seen.items():
    print(f"{text:12} is {value!r}")
assert seen == expected, "the behaviour has changed"
PYTHON
