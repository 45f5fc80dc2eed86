#!/usr/bin/env bash
# `Command(resume={})` does not answer an interrupt: it asks again. Other empty answers, such as `[]` and
# `""`, go through. A mapping is read as answers by the ids of interrupts, and an empty one has none.
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

asks: dict[str, bool] = {}
for number, answer in enumerate(({}, [], "", False, {"total": 1})):
    thread = {"configurable": {"thread_id": str(number)}}
    run.invoke({"answer": None}, thread)
    end = run.invoke(Command(resume=answer), thread)
    asks[repr(answer)] = "__interrupt__" in end
    print(f"resume with {answer!r}:", "asks again" if asks[repr(answer)] else end)
assert [answer for answer, again in asks.items() if again] == ["{}"]
PYTHON
"$folder/venv/bin/python" "$folder/graph.py"
