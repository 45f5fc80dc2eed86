#!/usr/bin/env bash
# An expression of Jinja2 looks like Python, but its `**` binds less than the minus before it, and
# from left to right: `-1 ** 2` is 1 and `2 ** 3 ** 2` is 64, where Python says -1 and 512.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jinja2==3.1.6
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

from jinja2.sandbox import SandboxedEnvironment

print("jinja2", version("jinja2"))
seen = []
for text in ("-1 ** 2", "2 ** 3 ** 2", "2 ** -1", "-(1 ** 2)"):
    here, python = SandboxedEnvironment().compile_expression(text)(), eval(text)
    seen.append((here, python))
    print(f"{text:12} is {here}, in Python {python}")
assert seen == [(1, -1), (64, 512), (0.5, 0.5), (-1, -1)], "the behaviour has changed"
PYTHON
