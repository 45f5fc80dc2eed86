#!/usr/bin/env bash
# `Command(resume=...)` to a thread that has ended is neither refused nor used: it returns the old state.
# Two people who answer the same question both learn that all went well.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check langgraph==1.2.24
cat >"$folder/graph.py" <<'PYTHON'
from typing import Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt


class State(TypedDict):
    answer: Any


graph = StateGraph(State)
graph.add_node("ask", lambda state: {"answer": interrupt("Which changes?")})
graph.add_edge(START, "ask")
run = graph.compile(checkpointer=InMemorySaver())

thread = {"configurable": {"thread_id": "one"}}
run.invoke({"answer": None}, thread)
first = run.invoke(Command(resume="none"), thread)
second = run.invoke(Command(resume="all of them"), thread)
print("first answer:", first)
print("second answer:", second)
assert first == second == {"answer": "none"}
PYTHON
"$folder/venv/bin/python" "$folder/graph.py"
