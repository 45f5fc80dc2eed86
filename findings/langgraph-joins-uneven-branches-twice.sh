#!/usr/bin/env bash
# A node with two edges into it runs once if both branches have the same number of steps, and twice if
# not: each time with what has come so far. `add_edge(["short", "long"], "join")` waits for both.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check langgraph==1.2.24
cat >"$folder/graph.py" <<'PYTHON'
import operator
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph


class State(TypedDict):
    path: Annotated[list[str], operator.add]


def path(waits: bool) -> list[str]:
    graph = StateGraph(State)
    for name in ("short", "long", "longer", "join"):
        graph.add_node(name, lambda state, name=name: {"path": [name]})
    graph.add_edge(START, "short")
    graph.add_edge(START, "long")
    graph.add_edge("long", "longer")
    if waits:
        graph.add_edge(["short", "longer"], "join")
    else:
        graph.add_edge("short", "join")
        graph.add_edge("longer", "join")
    return graph.compile().invoke({"path": []})["path"]


print("two edges:", path(waits=False))
print("one edge from both:", path(waits=True))
assert (path(waits=False).count("join"), path(waits=True).count("join")) == (2, 1)
PYTHON
"$folder/venv/bin/python" "$folder/graph.py"
