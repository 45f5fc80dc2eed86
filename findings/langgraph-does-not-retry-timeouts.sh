#!/usr/bin/env bash
# `RetryPolicy()` repeats a node that raises ConnectionError or a plain Exception, but not one that raises
# TimeoutError: that is an OSError, which its default leaves out.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check langgraph==1.2.24
cat >"$folder/graph.py" <<'PYTHON'
from typing import TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import RetryPolicy


class State(TypedDict):
    done: bool


def calls(error: Exception) -> int:
    """How often a node is called that raises this twice."""
    count = 0

    def node(state: State) -> State:
        nonlocal count
        count += 1
        if count < 3:
            raise error
        return {"done": True}

    graph = StateGraph(State)
    graph.add_node("fetch", node, retry_policy=RetryPolicy(initial_interval=0.01))
    graph.add_edge(START, "fetch")
    try:
        graph.compile().invoke({"done": False})
    except type(error):
        pass
    return count


seen = {type(error).__name__: calls(error) for error in (ConnectionError(), TimeoutError())}
print("calls of a node:", seen)
assert seen == {"ConnectionError": 3, "TimeoutError": 1}
PYTHON
"$folder/venv/bin/python" "$folder/graph.py"
