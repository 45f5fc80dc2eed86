#!/usr/bin/env bash
# A node that returns a key which the state does not declare is not told: the
# value is dropped. So is such a key of the input.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check langgraph==1.2.24
cat >"$folder/graph.py" <<'PYTHON'
from typing import TypedDict

from langgraph.graph import START, StateGraph


class State(TypedDict):
    summary: str


graph = StateGraph(State)
graph.add_node("write", lambda state: {"abstract": "A new text"})
graph.add_edge(START, "write")
end = graph.compile().invoke({"summary": "An old text", "language": "en"})
print("a node that returns `abstract`:", end)
assert end == {"summary": "An old text"}
PYTHON
"$folder/venv/bin/python" "$folder/graph.py"
