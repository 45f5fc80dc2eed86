#!/usr/bin/env bash
# A condition or a `Command(goto=...)` that names a node which the graph does not have ends the run as if
# it were complete: one line in the log says that a write was ignored.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check langgraph==1.2.24
cat >"$folder/graph.py" <<'PYTHON'
from typing import TypedDict

from langgraph.graph import START, StateGraph


class State(TypedDict):
    path: str


graph = StateGraph(State)
graph.add_node("draft", lambda state: {"path": state["path"] + " draft"})
graph.add_node("review", lambda state: {"path": state["path"] + " review"})
graph.add_edge(START, "draft")
graph.add_conditional_edges("draft", lambda state: "revision")
end = graph.compile().invoke({"path": "start"})
print("a condition that answers 'revision':", end)
assert end == {"path": "start draft"}
PYTHON
"$folder/venv/bin/python" "$folder/graph.py"
