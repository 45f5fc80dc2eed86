#!/usr/bin/env bash
# pydantic-monty, a Python interpreter in Rust, rounds `x * 10**n` half to even; CPython rounds the
# exact binary value of x. So thousands of half cents get another result, in both directions, while
# "%.2f" formatting agrees with CPython.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic-monty==1.4.0
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

from pydantic_monty import Monty

half_cents = [f"{n}.{c:02d}5" for n in range(100) for c in range(100)]
with Monty(max_processes=1) as pool, pool.checkout() as session:
    rounded = session.feed_run(f"[round(x, 2) for x in [{', '.join(half_cents)}]]")
    formatted = session.feed_run(f"['%.2f' % x for x in [{', '.join(half_cents)}]]")
differ = [x for x, it in zip(half_cents, rounded) if round(float(x), 2) != it]
up = sum(round(float(x), 2) < it for x, it in zip(half_cents, rounded))
down = sum(round(float(x), 2) > it for x, it in zip(half_cents, rounded))
same_text = all("%.2f" % float(x) == it for x, it in zip(half_cents, formatted))
print("pydantic-monty", version("pydantic-monty"))
print(f"round(x, 2) differs from CPython for {len(differ)} of {len(half_cents)} half cents")
print(f"higher {up}, lower {down}; first: {differ[:4]}; '%.2f' agrees: {same_text}")
assert len(differ) > 1000 and up and down and same_text, "the behaviour has changed"
PYTHON
