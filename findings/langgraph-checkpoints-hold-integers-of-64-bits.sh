#!/usr/bin/env bash
# An integer that 64 bits do not hold, such as an amount in the smallest unit of a token, cannot be
# saved: the run fails at its checkpoint with a TypeError. Without a checkpointer it runs.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check langgraph==1.2.24
cat >"$folder/graph.py" <<'PYTHON'
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

print("2**63:", saved(2**63))
try:
    saved(10**20)
except TypeError as error:
    print("10**20:", error)
else:
    raise AssertionError("it is saved")
PYTHON
"$folder/venv/bin/python" "$folder/graph.py"
