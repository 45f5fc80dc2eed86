"""On Temporal, concurrent turns wait for room in a budget, and their history replays."""

from pathlib import Path

from temporalio.api.enums.v1 import EventType
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from coterie.replay.replay import replay
from tests.support.engine import engine, trail

TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas: {terse: {prompts: {user: "Write {{ input }}."}, max_tokens: 1000}}
orchestration:
  entry_team: a
  budgets: {tokens: 6000}
  teams:
    a:
      tasks:
        - name: each
          type: loop
          iterate_on: [1, 2, 3, 4, 5]
          loop_variable: n
          concurrency: 5
          body:
            - {name: write, agent_type: generic_single_shot, persona_key: terse, input: "{{ n }}"}
"""
ANSWERS: list[Json] = [
    {"task": "write", "answer": "a word", "usage": {"input_tokens": 900, "output_tokens": 100}},
]


async def test_turns_that_do_not_fit_together_wait_and_all_run(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    async with engine(env, tmp_path, ANSWERS) as running:
        narrow = await running.start(TEAM.replace("6000", "5000"))
        await narrow.result()
        wide = await running.start(TEAM)
        await wide.result()
        histories = [await handle.fetch_history() for handle in (narrow, wide)]
        waits = [
            [one.because for one in await trail(handle) if one.status == "waits"]
            for handle in (narrow, wide)
        ]
    assert [_most_at_once([*history.events]) for history in histories] == [4, 5]
    assert waits[1] == []
    assert waits[0][0].startswith("of the token budget of the run, 0 of 5,000 tokens are used")
    for history in histories:
        assert (await replay(history)).differences == ()
    markers = [
        sum(event.event_type == EventType.EVENT_TYPE_MARKER_RECORDED for event in history.events)
        for history in histories
    ]
    assert markers == [0, 0], "a turn that waits adds no event"


def _most_at_once(events: list[object]) -> int:
    """Return how many calls were in progress at once."""
    now = most = 0
    for event in events:
        kind = getattr(event, "event_type", None)
        now += kind == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
        now -= kind == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
        most = max(most, now)
    return most
