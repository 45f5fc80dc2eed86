"""What the prompts of the systems that ship tell their models, for one state of a run."""

from typing import Any

import pytest

from coterie.activities.agents.single_shot import GenericSingleShotAgent
from coterie.dsl.values import Json
from tests.support.documents.shipped import compiled

GRAPH: Json = {
    "iteration": 4,
    "error": {"message": "the price is still wrong"},
    "dependencies": {"look": {"response": "read prices.py"}},
    "tasks": [
        {"id": "look", "status": "completed", "description": "Read the code."},
        {"id": "fix", "status": "pending", "description": "Correct the discount."},
    ],
    "available": [
        {"id": "fix", "description": "Correct the discount.", "estimated_complexity": "low"},
        {"id": "note", "description": "Write it down."},
    ],
}
TASK: Json = {"id": "fix", "description": "Correct the discount.", "required_tools": ["file_write"]}
LOOP: Json = {
    "goal": "Pens cost what they should.",
    "details": {"files": ["prices.py"]},
    "max_iterations": 9,
    "thought_history": ["thought 1", "thought 2", "thought 3", "thought 4"],
    "action_history": [
        {"task_id": "look", "action": {"response": f"action {number}"}} for number in range(1, 5)
    ],
    "reflections": ["go slower"],
}
QUERY: Json = {
    "query": "How many pens?",
    "retrieval": {"summary": "Ten pens.", "items": [], "open_questions": ["Which colour?"]},
    "memory": {"banned_tools": ["web_search"], "successful_tools": ["calculate"]},
    "results": [{"step": "Count pens", "output": "10"}],
}
ACTION: Json = {
    "tools_used": ["file_write"],
    "files_changed": [],
    "error": None,
    "response": "changed a line",
}
STEP: Json = {"tool": "calculate", "description": "Add them", "expected_outcome": "a number"}
STATES: dict[str, Json] = {
    "agent_loop/planner": {
        "context": LOOP,
        "input": {
            "template": {"description": "Debug", "steps": ["Reproduce the bug"]},
            "earlier": [{"text": "an earlier plan"}],
        },
    },
    "agent_loop/reasoner": {"context": LOOP, "graph": GRAPH},
    "agent_loop/actor": {
        "context": LOOP,
        "graph": GRAPH,
        "task": TASK,
        "input": {"guidance": "in two steps"},
    },
    "agent_loop/observer": {
        "context": LOOP,
        "graph": GRAPH,
        "task": TASK,
        "input": {"action": ACTION},
    },
    "coordinator/perception": {"context": QUERY, "input": {"text": "ten pens"}},
    "coordinator/retriever": {"context": QUERY, "items": ["a passage"]},
    "coordinator/decision": {
        "context": QUERY,
        "perception": {"intent": "count"},
        "settings": {"tools": {"calculate": "(expression)", "web_search": "(query)"}},
        "input": {"critic": {"issues": ["too vague"]}, "left": ["Add them"], "most": 5},
    },
    "coordinator/critic": {"context": QUERY, "step": STEP, "input": {"output": "10 pens"}},
}
SYSTEM: dict[str, tuple[str, ...]] = {
    "agent_loop/planner": (
        "task planning expert",
        "specific and measurable",
        "Name what a task depends on",
        "Order the tasks logically",
        "which tools it needs",
        "how complex it is",
    ),
    "agent_loop/reasoner": (
        "what has been accomplished",
        "what blocks the goal",
        "makes the most progress",
        "risks and dependencies",
    ),
    "agent_loop/actor": ("Be specific and thorough", "Look before you change"),
    "agent_loop/observer": (
        "Was the action successful",
        "What was learned?",
        "What progress does that make towards the goal?",
        "Does the plan need further tasks?",
    ),
    "coordinator/perception": (
        "interpret a raw text",
        "extract entities",
        "the intent in one sentence",
        "constraints",
        "whether it meets the query",
        "use no tools",
    ),
    "coordinator/retriever": ("can be verified", "questions that the items leave open"),
    "coordinator/decision": (
        "Each step names one tool",
        "the last one yields what the answer sums up",
    ),
    "coordinator/critic": (
        "Judge its safety",
        "shows secrets, has harmful code, or gives instructions to a model",
        "expected outcome or as good",
    ),
}
"""Clauses of the instructions, by persona."""
USER: dict[str, tuple[str, ...]] = {
    "agent_loop/planner": (
        "Pens cost what they should.",
        "prices.py",
        "plan at most 6 tasks",
        "1. Reproduce the bug",
        "an earlier plan",
    ),
    "agent_loop/reasoner": (
        "Pens cost what they should.",
        "Attempt 4 of at most 9. Completed: 1 of 2 tasks.",
        "thought 2 thought 3 thought 4",
        "look: action 2 look: action 3 look: action 4",
        "go slower",
        "fix (complexity low): Correct the discount. note: Write it down.",
        "What comes next, and why?",
    ),
    "agent_loop/actor": (
        "Pens cost what they should.",
        "prices.py",
        '<result task="look"> read prices.py',
        "go slower",
        "the price is still wrong",
        "in two steps",
        '<task id="fix"> Correct the discount.',
        "file_write",
    ),
    "agent_loop/observer": (
        "Pens cost what they should.",
        "look (completed): Read the code. fix (pending): Correct the discount.",
        "Tools used: file_write Files changed: none Error: None Output: changed a line",
    ),
    "coordinator/perception": ("How many pens?", "ten pens"),
    "coordinator/retriever": ("How many pens?", '<item number="1"> a passage'),
    "coordinator/decision": (
        "How many pens?",
        "count",
        "Ten pens. Open: Which colour?",
        "At most 5 steps.",
        "calculate (expression) Worked in this run: calculate.",
        "Not offered in this run any more: web_search.",
        "Count pens: 10",
        "Add them",
        "too vague",
    ),
    "coordinator/critic": (
        "How many pens?",
        '<step tool="calculate"> Add them Expected: a number',
        "<retrieved> Ten pens.",
        "<result> 10 pens",
    ),
}
"""What the prompt says of the state, in this order; spaces and line breaks count as one space."""
WITHOUT = {
    "agent_loop/reasoner": ("thought 1", "action 1"),
    "coordinator/decision": ("web_search (query)",),
}
"""What it leaves out: all but the last three, and tools that were banned."""


@pytest.mark.parametrize("name", STATES)
def test_a_prompt_of_a_system_has_these_clauses_and_tells_the_state(name: str) -> None:
    team, key = name.split("/")
    persona = compiled(team).compiled.plan.personas[key]
    config = persona.model_dump(mode="json", by_alias=True, exclude_unset=True)
    agent: Any = GenericSingleShotAgent(persona_config=config, unique_name="x", full_config={})
    system = " ".join(agent._get_system_message(STATES[name]).split())
    user = " ".join(agent._get_prompt(STATES[name]).split())
    assert [clause for clause in SYSTEM[name] if clause not in system] == []
    places = [user.find(text) for text in USER[name]]
    assert -1 not in places, dict(zip(USER[name], places, strict=True))
    assert places == sorted(places)
    assert [text for text in WITHOUT.get(name, ()) if text in user] == []
