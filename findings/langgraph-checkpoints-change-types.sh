#!/usr/bin/env bash
# A saved state has other types than the nodes gave: a tuple becomes a list, a Counter and a defaultdict
# a dict, an exception its repr. Sets, dates and decimals stay. Code that works until a run is resumed
# fails after it.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check langgraph==1.2.24
cat >"$folder/graph.py" <<'PYTHON'
from collections import Counter, defaultdict
from decimal import Decimal
from typing import Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph


class State(TypedDict):
    value: Any


def saved(value: object) -> object:
    """What the state of a run has after it was written and read."""
    graph = StateGraph(State)
    graph.add_node("keep", lambda state: {"value": value})
    graph.add_edge(START, "keep")
    run = graph.compile(checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "one"}}
    run.invoke({"value": None}, thread)
    return run.get_state(thread).values["value"]

values = [(1, 2), Counter("aa"), defaultdict(int, a=1), ValueError("no"), {1}, Decimal("0.10")]
types = {type(value).__name__: type(saved(value)).__name__ for value in values}
for before, after in types.items():
    print(before, "->", after)
assert types == {
    "tuple": "list",
    "Counter": "dict",
    "defaultdict": "dict",
    "ValueError": "str",
    "set": "set",
    "Decimal": "Decimal",
}
PYTHON
"$folder/venv/bin/python" "$folder/graph.py"
