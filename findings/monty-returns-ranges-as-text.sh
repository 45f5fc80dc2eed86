#!/usr/bin/env bash
# pydantic-monty returns values that it cannot convert as plain `str`: a range, a dict view, a
# function or a match reaches the host as text that looks like its repr. The host can tell it from
# a text only by asking inside the sandbox.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic-monty==1.4.0
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

from pydantic_monty import Monty

programs = ["range(3)", "{'a': 1}.keys()", "lambda x: x", "'range(0, 3)'", "[1, 2]"]
with Monty(max_processes=1) as pool, pool.checkout() as session:
    values = [session.feed_run(program) for program in programs]
print("pydantic-monty", version("pydantic-monty"))
for program, value in zip(programs, values):
    print(f"{program:18} -> {type(value).__name__}: {value!r}")
assert [type(value) for value in values] == [str, str, str, str, list], "the behaviour has changed"
assert values[0] == values[3], "a range and its text can be told apart now"
PYTHON
