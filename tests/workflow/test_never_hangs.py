"""Whatever a run is given, it ends and says why: nothing is tried again for ever."""

import json
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowExecutionStatus
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import MAX_DURATION, Json
from coterie.workflows.core.results import RunFailed
from coterie.workflows.handlers import start_checks
from coterie.workflows.interpreter import run
from coterie.workflows.temporal.pacer import MAX_STEPS
from tests.support.engine import Engine, engine, plan_of
from tests.support.runs import failure, scheduled
from tests.support.servers.temporal_server import time_skipping
from tests.support.simulation.stopping import StoppingScope, World, fresh

TEAM = """
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
"""
ASK = "        - {name: ask, agent_type: generic_single_shot, persona_key: writer"


@pytest.fixture
async def here(env: WorkflowEnvironment, tmp_path: Path) -> AsyncGenerator[Engine]:
    answers: list[Json] = [{"task": "ask", "answer": "fine"}]
    async with engine(env, tmp_path, answers) as made:
        yield made


async def test_many_steps_that_call_nothing_give_temporals_thread_back(here: Engine) -> None:
    """It waits two seconds for a workflow's word, then takes it for a deadlock, for ever."""
    handle: Any = await here.start(f"""{TEAM}
        - name: count
          iterate_on: "{{{{ range(1200) }}}}"
          loop_variable: n
          output_variable: counted
          body: [{{name: skip, type: set, values: {{x: 1}}, when: "{{{{ n < 0 }}}}"}}]
        - {{name: told, type: set, values: {{rounds: "{{{{ counted.rounds }}}}"}}}}
""")
    assert (await handle.result())["output"]["told"] == {"rounds": 1200}
    events = [event.event_type for event in (await handle.fetch_history()).events]
    assert events.count(EventType.EVENT_TYPE_TIMER_STARTED) == 1200 // MAX_STEPS


@pytest.mark.parametrize(
    ("steps", "timers"),
    [
        ("- {name: s, type: set, values: {a: HEAVY, b: HEAVY, c: HEAVY, d: HEAVY}}", 3),
        (
            """- {name: a, type: set, values: {x: HEAVY}}
        - {name: b, type: set, values: {x: HEAVY}}
        - {name: c, type: set, values: {x: HEAVY}}""",
            2,
        ),
        (
            """- name: b
          type: branch
          branches:
            - {condition: "{{ range(60000) | list | length == 1 }}", steps: [{name: r1, REST}]}
            - {condition: "{{ range(60000) | list | length == 2 }}", steps: [{name: r2, REST}]}
            - {condition: "{{ range(60000) | list | length == 3 }}", steps: [{name: r3, REST}]}
          otherwise: [{name: r4, REST}]""",
            2,
        ),
        ("- {name: s, type: set, values: {a: LIGHT, b: LIGHT, c: LIGHT, d: LIGHT}}", 0),
    ],
)
async def test_expressions_that_take_long_give_temporals_thread_back(
    here: Engine, steps: str, timers: int
) -> None:
    heavy, light = (f"'{{{{ range({size}) | list | length }}}}'" for size in (99_999, 9_000))
    rest = "type: wait, duration: 1s"
    handle: Any = await here.start(
        f"{TEAM}        "
        + steps.replace("HEAVY", heavy).replace("LIGHT", light).replace("REST", rest)
    )
    await handle.result()
    events = [event.event_type for event in (await handle.fetch_history()).events]
    assert events.count(EventType.EVENT_TYPE_TIMER_STARTED) == timers


async def test_a_defect_of_the_interpreter_ends_a_tests_run_with_its_message(
    env: WorkflowEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In production it is a workflow task that waits for a repaired worker."""

    def defect(*begun: object) -> None:
        raise KeyError("no such track")

    monkeypatch.setattr(start_checks, "begin", defect)
    async with engine(env, tmp_path, [], everything=False) as running:
        handle: Any = await running.start(f"{TEAM}\n        - {{name: x, type: set, values: {{}}}}")
        assert "no such track" in str(await failure(handle))


async def test_a_request_that_is_too_large_is_never_sent_and_names_its_largest_part(
    here: Engine,
) -> None:
    handle: Any = await here.start(f"""{TEAM}
        - {{name: make, type: set, values: {{a: "{{{{ 'x' * 900000 }}}}"}}}}
{ASK}, input: {{small: 1, files: {{one: "{{{{ a }}}}", all: "{{{{ [a, a, a] }}}}"}}}}}}
""")
    cause = await failure(handle)
    assert "RequestTooLarge" in cause.message
    assert "work/ask: it has 3,6" in cause.message
    assert "the largest part is inputs.input.files.all (2,7" in cause.message
    assert await scheduled(handle) == []
    assert cause.details[0]["end"] == "failed"


async def test_a_result_that_is_too_large_is_reported_as_a_failure(here: Engine) -> None:
    handle: Any = await here.start(f"""{TEAM}
        - {{name: make, type: set, values: {{a: "{{{{ 'x' * 900000 }}}}"}}}}
      routing:
        rules:
          - {{next_team: null, context_updates: {{one: "{{{{ a }}}}", more: "{{{{ [a, a] }}}}"}}}}
""")
    cause = await failure(handle)
    assert cause.type == "ResultTooLarge"
    assert "the largest part is context.more" in cause.message
    assert cause.details[0]["end"] == "failed"
    assert cause.details[0]["because"] == cause.message
    assert await handle.query("result") == cause.details[0]
    assert cause.details[0]["context"] == {}


_HALF = {"a text": "'%c' | format(55357)", "a key": "'{\"\\\\ud83d\": 1}' | from_json"}


@pytest.mark.parametrize("made", _HALF.values(), ids=_HALF)
@pytest.mark.parametrize(
    "where",
    [
        f"{ASK}, input: MADE}}",
        "        - {name: half, type: set, values: {text: MADE}}",
        """        - {name: none, type: set, values: {a: 1}}
      routing: {rules: [{next_team: null, context_updates: {half: MADE}}]}""",
        """        - {name: none, type: set, values: {a: 1}}
  output: {half: MADE}""",
    ],
    ids=["input", "set", "update", "output"],
)
async def test_value_that_utf8_cannot_carry_fails_where_a_template_makes_it(
    here: Engine, where: str, made: str
) -> None:
    text = json.dumps(f"{{{{ {made} }}}}")
    handle: Any = await here.start(TEAM + where.replace("MADE", text))
    cause = await failure(handle)
    assert "half of a surrogate pair, not a character" in cause.message
    assert "TooLarge" not in cause.message + cause.type
    assert (await handle.query("result"))["because"] == cause.message
    assert (await handle.query("state"))["whole"]


@pytest.mark.parametrize(
    ("wait", "message"),
    [
        ("duration: '{{ 1e300 }}'", "is not a duration between 0 and a hundred years"),
        ("duration: '{{ -5 }}'", "is not a duration between 0 and a hundred years"),
        ("duration: '{{ [1] }}'", "is not a duration"),
        ("time: '9999-01-01'", "is not a time within the next hundred years"),
        ("time: '{{ 5 }}'", "is not a time"),
        ("time: \"{{ '0001-01-01T00:00+23:59' }}\"", "is not a time"),
        ("time: '1970-01-01'", None),
    ],
)
async def test_a_wait_without_measure_fails_the_step(
    here: Engine, wait: str, message: str | None
) -> None:
    handle: Any = await here.start(f"{TEAM}        - {{name: rest, type: wait, {wait}}}\n")
    if message is None:  # long ago: nothing to wait for
        await handle.result()
    else:
        assert message in (await failure(handle)).message


async def test_a_team_that_calls_itself_for_ever_ends_at_a_limit(here: Engine) -> None:
    handle: Any = await here.start("""
orchestration:
  entry_team: work
  max_total_teams: 100000
  max_recursion_depth: 100000
  teams:
    work: {tasks: [{name: again, team: work}]}
""")
    cause = await failure(handle)
    assert cause.type == "LimitExceeded"
    assert "Teams within teams are nested more than 20 deep" in cause.message


async def test_a_retry_waits_longer_with_each_attempt(here: Engine) -> None:
    handle: Any = await here.start(f"""{TEAM}
        - name: bad
          steps: [{{name: no, type: fail, message: m}}]
          retry: {{retries: 3, interval: 9d, backoff: 10}}
""")
    assert "task 'bad' of team 'work' failed: Failed: m" in (await failure(handle)).message
    waits = [
        event.timer_started_event_attributes.start_to_fire_timeout.ToTimedelta()
        for event in (await handle.fetch_history()).events
        if event.event_type == EventType.EVENT_TYPE_TIMER_STARTED
    ]
    assert waits == [timedelta(days=9), timedelta(days=90), timedelta(days=900)]


async def test_a_retry_never_waits_longer_than_a_clock_can_count() -> None:
    plan = plan_of(f"""{TEAM}
        - name: bad
          steps: [{{name: no, type: fail, message: m}}]
          retry: {{retries: 60, interval: 36500d, backoff: 100}}
""")
    world = World(lambda _: {})
    with pytest.raises(RunFailed):
        await run(StoppingScope(plan, fresh(plan, {}), world, None))
    assert world.seconds == 60 * MAX_DURATION


@pytest.mark.parametrize(
    "carried", [{}, {"tracks": {}}, {"tracks": {"main": {"team": "work", "visit": 7}}}, {"no": 1}]
)
async def test_only_a_run_that_continues_as_new_carries_a_state(
    here: Engine, carried: Json
) -> None:
    plan = plan_of(f"{TEAM}{ASK}}}\n").model_dump(mode="json", exclude_defaults=True)
    handle: Any = await here.start_raw({"plan": plan, "carried": carried})
    cause = await failure(handle)
    assert (cause.type, cause.message) == (
        "RunRefused",
        "`carried` is for runs that continue as new",
    )


async def test_a_cancelled_run_ends_as_cancelled_and_its_call_is_reported(tmp_path: Path) -> None:
    """On a server of its own: its time never skips again after a run ended before its call."""
    answers: list[Json] = [{"task": "ask", "answer": "late", "seconds": 60}]
    async with time_skipping() as env, engine(env, tmp_path, answers) as here:
        handle: Any = await here.start(f"{TEAM}{ASK}}}\n      routing: {{default: work}}\n")
        while not await scheduled(handle):
            await env.sleep(1)
        await handle.cancel()
        described = await handle.describe()
        while described.status == WorkflowExecutionStatus.RUNNING:
            await env.sleep(1)
            described = await handle.describe()
        assert described.status == WorkflowExecutionStatus.CANCELED
        events = [event.event_type for event in (await handle.fetch_history()).events]
        assert EventType.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED in events
