"""At every boundary, what is too large or no JSON is a named failure: no hang, nothing retried."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.sizes import MAX_SHOWN, MAX_VALUE_SIZE
from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.runs.new_runs import start_run
from coterie.workflows.core.messages import TeamInput
from tests.support.engine import HEAD, Engine, engine, plan_of, trail
from tests.support.runs import asked, failure, refused

FUNCTIONED = """
    skilled:
      execution_plan:
        - {name: save, skill: AssetManager.process_action,
           input: {file_path: a, type: create,
                   content: "{{ ['x' * 900000, 'x' * 900000, 'x' * 900000] | list }}"}}
"""
TEAM = (
    HEAD
    + FUNCTIONED
    + """
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - {name: make, type: set, values: {a: "{{ 'x' * 900000 }}"}}
"""
)
ASK = "        - {name: ask, agent_type: generic_single_shot, persona_key: writer, input: "
SIDE = "\n    side: {tasks: [{name: nothing, type: set, values: {n: 1}}]}\n"
ROUTES = "\n      routing:\n        rules:\n          - {next_team: null, context_updates: "
LARGE = '"{{ [a, a, a] }}"'
MADE = "{{ '%c' | format(55357) }}"
HALF = f'"{MADE}"'
NO_CHARACTER = (
    rf"{MADE} cannot be evaluated: '\ud83d' contains half of a surrogate pair, not a character"
)

CASES = {
    "agent input": (f"{ASK}{LARGE}}}", "RequestTooLarge: work/ask: it has 2,7"),
    "agent input that is no JSON": (
        f"{ASK}{HALF}}}",
        f"task 'ask' of team 'work' failed: TemplateFailed: {NO_CHARACTER}",
    ),
    "tool function input": (
        "        - {name: write, agent_type: generic_orchestrating, persona_key: skilled}",
        "work/write/save: AssetManager.process_action: it has 2,7",
    ),
    "set": (
        f"        - {{name: more, type: set, values: {{all: {LARGE}}}}}",
        "ValueTooLarge: the variable 'all' that 'more' sets has 2,7",
    ),
    "return": (
        f"        - {{name: out, type: return, value: {LARGE}}}",
        "ValueTooLarge: the value that 'out' returns has 2,7",
    ),
    "list of a loop": (
        f"        - {{name: each, iterate_on: {LARGE}, loop_variable: x, body: "
        "[{name: n, type: set, values: {n: 1}}]}",
        "ValueTooLarge: the list that 'each' goes over has 2,7",
    ),
    "input of a team": (
        f"        - {{name: sub, team: side, input: {{all: {LARGE}}}}}{SIDE}",
        "ValueTooLarge: the input of 'sub' has 2,7",
    ),
    "what an approval shows": (
        '        - {name: sign, type: approval, prompt: "Sure?", show: "{{ a }}"}',
        f"ValueTooLarge: what 'sign' shows to a person has 900,012 bytes, and {MAX_SHOWN:,} are",
    ),
    "route updates": (
        f"{ROUTES}{{all: {LARGE}}}}}",
        "the context update 'all' of team 'work' has 2,7",
    ),
    "a message": (
        f"        - {{name: bad, type: fail, message: {HALF}}}",
        f"task 'bad' of team 'work' failed: TemplateFailed: {NO_CHARACTER}",
    ),
    "result": (
        f'{ROUTES}{{one: "{{{{ [a, a] }}}}", two: "{{{{ a }}}}"}}}}',
        "its result cannot be given: it has 3,6",
    ),
    "result that is no JSON": (
        f"{ROUTES}{{one: {HALF}}}}}",
        NO_CHARACTER,
    ),
}


@pytest.fixture
async def here(env: WorkflowEnvironment, tmp_path: Path) -> AsyncGenerator[Engine]:
    answers: list[Json] = [{"task": "ask", "answer": "fine"}]
    async with engine(env, tmp_path, answers) as made:
        yield made


async def none_failed(handle: Any) -> bool:
    """No workflow task was tried again."""
    kinds = [event.event_type for event in (await handle.fetch_history()).events]
    return EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED not in kinds


@pytest.mark.parametrize("case", CASES)
async def test_value_that_cannot_travel_is_a_failure_that_names_it(here: Engine, case: str) -> None:
    steps, message = CASES[case]
    handle: Any = await here.start(TEAM + steps + "\n")
    cause = await failure(handle)
    assert message in cause.message
    assert await none_failed(handle)


async def test_a_run_is_not_begun_with_more_than_it_can_carry(here: Engine) -> None:
    given = TeamInput(plan=plan_of(TEAM), context={"all": "x" * MAX_VALUE_SIZE})
    with pytest.raises(CommandError, match="exceed the 2 MB limit of a run's input"):
        await start_run(here.client, "large", given, task_queue=here.queue, summary="large")


WAITING = """
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - {name: sign, type: approval, prompt: "Sure?", show: {a: b}, editable: true}
        - {name: word, type: wait, signal: word}
"""


async def test_messages_that_are_too_large_are_refused_and_the_run_goes_on(here: Engine) -> None:
    handle: Any = await here.start(WAITING, {"old": "x" * 1_000_000})
    request = await asked(handle)
    large = "x" * 1_100_000
    message = await refused(handle, {"updates": {"deep.new": large}}, "amend")
    assert "the context with deep.new has 2,1" in message
    decision = {"id": request["id"], "decision": "approve", "payload": {"a": large}}
    assert "`payload` has 1,100,008 bytes, and 500,000 are" in await refused(handle, decision)
    await handle.signal("word", large)
    await handle.signal("word", "fine")
    await handle.execute_update("decide", {"id": request["id"], "decision": "approve"})
    assert (await handle.result())["output"]["word"] == "fine"
    refusals = [entry.because for entry in await trail(handle) if entry.kind == "refused"]
    assert refusals == [
        "what waits as signal 'word' has 1,100,004 bytes, and 1,000,000 are allowed"
    ]
    assert await none_failed(handle)


async def test_an_answer_that_is_too_large_fails_its_task_and_is_paid_once(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    answers: list[Json] = [{"task": "ask", "answer": "x" * 1_600_000}]
    async with engine(env, tmp_path, answers) as here:
        handle: Any = await here.start(f"{TEAM}{ASK}1}}\n")
        cause = await failure(handle)
        assert "AnswerTooLarge: task 'ask': the answer has 1,6" in cause.message
        assert cause.details[0]["model_calls"] == 1
        assert await none_failed(handle)
