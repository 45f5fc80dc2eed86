"""Whoever looks at a history reads at each call and each timer which step it belongs to."""

from pathlib import Path
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.testing import WorkflowEnvironment

from coterie.storage.wire import data_converter
from tests.support.engine import engine

TIMED = """
orchestration:
  entry_team: begin
  teams:
    begin:
      tasks:
        - { name: say, agent_type: generic_single_shot, persona_key: writer }
        - { name: rest, type: wait, duration: 1h }
        - { name: hear, type: wait, signal: never, deadline: 1h, on_failure: continue }
        - name: again
          steps: [{ name: no, type: fail, message: on purpose }]
          retry: { retries: 1, interval: 5 }
          on_failure: continue
        - name: limited
          type: try
          timeout: 1m
          on_failure: continue
          steps: [{ name: long, type: wait, duration: 1d }]
          finally: [{ name: last, type: set, values: { last: 1 } }]
        - { name: sign, type: approval, prompt: Good?, deadline: 1h, on_timeout: approve }
      routing: { rules: [{ next_team: [left, right] }] }
    left:
      tasks: [{ name: done, type: set, values: { a: 1 } }]
      routing: { rules: [{ next_team: gather }] }
    right:
      tasks: [{ name: slow, type: wait, duration: 9d }]
      routing: { rules: [{ next_team: gather }] }
    gather: { type: concentrator, collect: { timeout: 1h }, tasks: [] }
"""
NAMES = {
    "begin/say",
    "begin/rest",
    "signal never for hear",
    "attempt 2 of begin/again",
    "time limit of limited",
    "begin/limited/long",
    "deadline of begin/sign#1",
    "time limit of left, right",
    "right/slow",
}


async def test_each_call_and_each_timer_has_a_name(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, [{"task": "say", "answer": "Hello."}]) as running:
        handle: Any = await running.start(TIMED)
        await handle.result()
        history = await handle.fetch_history()
    named = (
        EventType.EVENT_TYPE_TIMER_STARTED,
        EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
    )
    converter = data_converter.payload_converter
    summaries = [
        converter.from_payload(event.user_metadata.summary, str)
        for event in history.events
        if event.event_type in named
    ]
    assert set(summaries) == NAMES
