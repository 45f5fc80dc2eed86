#!/usr/bin/env bash
# A node that answers `Command(goto="refuse")` and has an edge to `accept` goes to both.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check langgraph==1.2.24
cat >"$folder/graph.py" <<'PYTHON'
import operator
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import Command


class State(TypedDict):
    path: Annotated[list[str], operator.add]


graph = StateGraph(State)
graph.add_node("decide", lambda state: Command(goto="refuse", update={"path": ["decide"]}))
graph.add_node("accept", lambda state: {"path": ["accept"]})
graph.add_node("refuse", lambda state: {"path": ["refuse"]})
graph.add_edge(START, "decide")
graph.add_edge("decide", "accept")
end = graph.compile().invoke({"path": []})
print("goto refuse, with an edge to accept:", end["path"])
assert sorted(end["path"]) == ["accept", "decide", "refuse"]
PYTHON
"$folder/venv/bin/python" "$folder/graph.py"
