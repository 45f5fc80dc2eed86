#!/usr/bin/env bash
# A time in the basic form of ISO 8601 is no error for pydantic, and no such time: "20260101" is read as
# seconds since 1970, so it is an afternoon in August 1970, and "20260101120000" as milliseconds.
# `datetime.fromisoformat` of Python 3.11 reads the first as what it says.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3.11 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic==2.14.3
"$folder/venv/bin/python" - <<'PYTHON'
from datetime import datetime
from importlib.metadata import version

from pydantic import TypeAdapter

read = TypeAdapter(datetime).validate_json
print("pydantic", version("pydantic"))
seen = {text: read(f'"{text}"') for text in ("2026-01-01", "20260101", "20260101120000")}
for text, moment in seen.items():
    print(f"{text:14} is {moment}")
print(f"20260101 of Python: {datetime.fromisoformat('20260101')}")
assert datetime.fromisoformat("20260101").year == seen["2026-01-01"].year == 2026
assert [moment.year for moment in seen.values()] == [2026, 1970, 2612], "the behaviour has changed"
PYTHON
