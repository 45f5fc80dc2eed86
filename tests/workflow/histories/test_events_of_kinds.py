"""Graphs, strategies, blocks, updates and sessions add no event to those of their calls."""

from collections import Counter
from pathlib import Path
from textwrap import indent

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.testing import WorkflowEnvironment

from coterie.runs.run_client import Run
from coterie.runs.sessions import send_message
from coterie.workflows.core.messages import SessionInput
from tests.support.engine import Engine, engine

HEAD = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {prompts: {user: "Write {{ input }}."}}
    other: {prompts: {user: "Write {{ input }}."}}
orchestration:
  entry_team: work
  context:
    notes: {type: array, default: [], keep_last: 2}
    most: {type: integer, default: 3, maximum: 5}
  teams:
    work:
      tasks:
"""


ASKED = ("act", "pick", "l", "r", "first", "again", "answer")
ANSWERS = [{"task": name, "answer": "ok"} for name in ASKED]


def ask(name: str, more: str = "") -> str:
    return f"{{name: {name}, persona_key: writer, input: x{more}}}"


KINDS: dict[str, tuple[int, str]] = {
    "a graph": (
        4,
        f"""
- name: graph
  type: task_graph
  tasks: [{{id: a}}, {{id: b, dependencies: [a]}}, {{id: c, dependencies: [a]}}]
  task_variable: task
  concurrency: 2
  max_tasks: 4
  body: [{ask("act")}]
  add: "{{{{ [{{'id': 'd'}}] if task.id == 'a' else [] }}}}"
""",
    ),
    "a graph with a choice and personas": (
        5,
        f"""
- name: graph
  type: task_graph
  tasks: [{{id: a}}, {{id: b}}, {{id: c}}]
  task_variable: task
  select: [{ask("pick")}]
  chosen: "{{{{ graph.available[0].id }}}}"
  body: [{{name: act, persona_key: "{{{{ 'other' }}}}", personas: [writer, other], input: x}}]
""",
    ),
    "a fallback": (
        1,
        f"""
- {{name: one, type: parallel, join: fallback, branches: {{
    left: [{ask("l")}], right: [{ask("r")}]}}}}
""",
    ),
    "the best of two": (
        2,
        f"""
- {{name: one, type: parallel, join: best, branches: {{
    left: {{steps: [{ask("l")}], score: 1}}, right: {{steps: [{ask("r")}], score: 2}}}}}}
""",
    ),
    "a block with updates and bounds": (
        3,
        f"""
- name: group
  type: block
  steps:
    - {ask("first", ", context_updates: {notes: {append: 1}}, fail_when: '{{ data is none }}'")}
    - name: rounds
      type: loop
      while: "{{{{ true }}}}"
      max_iterations: {{value: "{{{{ context.most - 1 }}}}", maximum: 4}}
      body: [{ask("again", ", context_updates: {notes: {append: 2}}")}]
""",
    ),
}


async def added(running: Engine, tasks: str) -> Counter[str]:
    """The events of a run, without those of workflow tasks: a busy server writes more of these."""
    handle = await running.start(HEAD + indent(tasks.strip(), " " * 8))
    await handle.result()
    events = (await handle.fetch_history()).events
    names = [EventType.Name(event.event_type).removeprefix("EVENT_TYPE_") for event in events]
    return Counter(name for name in names if not name.startswith("WORKFLOW_TASK"))


@pytest.mark.parametrize("kind", KINDS)
async def test_a_kind_of_step_writes_only_the_events_of_its_calls(
    env: WorkflowEnvironment, tmp_path: Path, kind: str
) -> None:
    calls, tasks = KINDS[kind]
    async with engine(env, tmp_path, ANSWERS) as running:
        assert await added(running, tasks) == {
            "WORKFLOW_EXECUTION_STARTED": 1,
            "ACTIVITY_TASK_SCHEDULED": calls,
            "ACTIVITY_TASK_STARTED": calls,
            "ACTIVITY_TASK_COMPLETED": calls,
            "WORKFLOW_EXECUTION_COMPLETED": 1,
        }


SESSION = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    helper: {prompts: {system: You help.}}
orchestration:
  entry_team: talk
  teams:
    talk:
      type: chat
      chat: {persona_key: helper, until: "{{ tasks.message.data == 'bye' }}"}
"""


async def test_a_message_of_a_session_writes_the_events_of_its_update_and_its_call(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, ANSWERS) as running:
        handle = await running.start(SESSION)
        session = Run(running.client, handle.id)
        for number, text in enumerate(("hello", "again", "bye")):
            await send_message(session, SessionInput(message=text), f"m{number}")
        await handle.result()
        events = (await handle.fetch_history()).events
    names = [EventType.Name(event.event_type).removeprefix("EVENT_TYPE_") for event in events]
    assert Counter(name for name in names if not name.startswith("WORKFLOW_TASK")) == {
        "WORKFLOW_EXECUTION_STARTED": 1,
        "WORKFLOW_EXECUTION_UPDATE_ACCEPTED": 3,
        "WORKFLOW_EXECUTION_UPDATE_COMPLETED": 3,
        "ACTIVITY_TASK_SCHEDULED": 3,
        "ACTIVITY_TASK_STARTED": 3,
        "ACTIVITY_TASK_COMPLETED": 3,
        "WORKFLOW_EXECUTION_COMPLETED": 1,
    }
