#!/usr/bin/env bash
# pydantic-monty announces a call of a host function when the code calls it, not when it awaits it. A
# coroutine that nobody awaits never runs in CPython; here the host is asked for its result as soon
# as the code awaits anything else, so a host that answers every announced call makes it.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic-monty==1.4.0
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio
import warnings
from importlib.metadata import version

from pydantic_monty import FunctionSnapshot, FutureSnapshot, Monty

made = []


async def pay(order):
    made.append(order)


async def program():
    pay(1)
    await pay(2)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    asyncio.run(program())
with Monty(max_processes=1) as pool, pool.checkout() as session:
    snapshot = session.feed_start("pay(1)\nawait pay(2)")
    announced = []
    while isinstance(snapshot, FunctionSnapshot):
        announced.append(snapshot.args[0])
        snapshot = snapshot.resume({"future": ...})
    assert isinstance(snapshot, FutureSnapshot)
    pending = sorted(snapshot.pending_call_ids)
print("pydantic-monty", version("pydantic-monty"))
print("CPython runs", made, "- Monty announces", announced, "and waits for calls", pending)
assert made == [2]
assert announced == [1, 2] and pending == [0, 1], "the behaviour has changed"
PYTHON
