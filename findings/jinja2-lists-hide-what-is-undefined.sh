#!/usr/bin/env bash
# `StrictUndefined` of Jinja2 makes each use of a missing value an error, but not inside a list: the
# entries that `map(attribute=...)` does not find stay in it, and the list is written with the word
# "Undefined". Such a prompt has a value that nobody wrote; `length` counts it.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jinja2==3.1.6
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

from jinja2 import StrictUndefined, UndefinedError
from jinja2.sandbox import SandboxedEnvironment

environment = SandboxedEnvironment(undefined=StrictUndefined)
rows = [{"name": "pens"}, {"title": "paper"}]
seen = {}
for text in (
    "{{ rows[1].name }}",
    "{{ rows | map(attribute='name') | join(', ') }}",
    "{{ rows | map(attribute='name') | list }}",
    "{{ rows | map(attribute='name') | list | length }}",
):
    try:
        seen[text] = environment.from_string(text).render(rows=rows)
    except UndefinedError as error:
        seen[text] = f"error: {error}"
print("jinja2", version("jinja2"))
for text, value in seen.items():
    print(f"{text:52} {value}")
first, joined, listed, length = seen.values()
assert first.startswith("error") and joined.startswith("error"), "the behaviour has changed"
assert (listed, length) == ("['pens', Undefined]", "2"), "the behaviour has changed"
PYTHON
