"""A failed task waits for a person, who has it tried again, skips it, or lets it fail."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.model.steps import LoopStep
from coterie.dsl.values import Json
from coterie.settings import load
from coterie.testing.simulation.case_server import time_skipping_server
from coterie.workflows.control import retry_and_skip as steering
from coterie.workflows.control.steering_refusals import TaskNotSkippable
from coterie.workflows.core.messages import SkipInput
from coterie.workflows.core.state import RunState
from tests.support.engine import Engine, engine, plan_of, trail
from tests.support.runs import asked, decide, failure, refused, sent

Handle = Any
TEAM = """
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - {name: first, agent_type: generic_single_shot, persona_key: writer}
        - {name: fill, type: set, values: {said: "{{ context.word }}"}, on_failure: ask,
           output_variable: filled}
        - {name: last, type: set, values: {heard: "{{ filled.said }}"}}
      routing: {default: null, context_updates: {heard: "{{ tasks.last.data.heard }}"}}
"""
LONG = """
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - {name: slow, agent_type: generic_single_shot, persona_key: writer}
        - {name: rest, type: wait, duration: 30d}
        - {name: heed, type: wait, signal: go, deadline: 30d}
        - {name: sign, type: approval, prompt: "Well?", deadline: 3d, approvers: [ann]}
        - {name: own, type: approval, prompt: "Well?", deadline: 3d, approvers: [ann]}
        - name: each
          iterate_on: [1]
          loop_variable: x
          body: [{name: inner, type: wait, duration: 30d}]
        - {name: never, agent_type: generic_single_shot, persona_key: writer}
        - {name: told, type: set, values: {all: "{{ [tasks.slow.data, tasks.never.status] }}"}}
      routing: {default: null, context_updates: {all: "{{ tasks.told.data.all }}"}}
"""
FAILED = "work/fill/failed#1"


@pytest.fixture(scope="module")
async def server() -> AsyncGenerator[Client]:
    """The real server."""
    async with time_skipping_server(load()) as client:
        yield client


@pytest.fixture
async def here(server: Client, tmp_path: Path) -> AsyncGenerator[Engine]:
    answers: list[Json] = [
        {"task": "first", "answer": "once"},
        {"task": "slow", "answer": "late", "seconds": 100},
    ]
    env = WorkflowEnvironment.from_client(server)
    async with engine(env, tmp_path, answers) as made:
        yield made


async def failed(here: Engine) -> Handle:
    """A run whose second task failed."""
    handle: Handle = await here.start(TEAM)
    request = await asked(handle)
    assert request["id"] == FAILED
    assert request["prompt"].startswith("'fill' failed. TemplateFailed: ")
    assert request["choices"] == ["retry", "skip", "fail"]
    return handle


async def asked_again(handle: Handle) -> None:
    for _ in range(4000):
        if (await asked(handle))["id"] != FAILED:
            return
        await asyncio.sleep(0.02)  # between two looks
    raise AssertionError("it was not tried again")


async def test_a_failed_task_is_tried_again_with_another_context_and_nothing_else_is(
    here: Engine,
) -> None:
    handle = await failed(here)
    await sent(handle, "retry", {"by": "ann", "why": "who knows"})
    await asked_again(handle)
    await sent(handle, "amend", {"updates": {"word": "hello"}, "by": "ann"})
    taken = await sent(handle, "retry", {"task": "fill", "by": "ann", "why": "amended"})
    assert (taken["id"], taken["verdict"]) == ("work/fill/failed#2", "retried")
    result = await handle.result()
    assert (result["context"]["heard"], result["model_calls"]) == ("hello", 1)
    assert [one["comment"] for one in result["decisions"]] == ["who knows", "amended"]
    reasons = [entry.because for entry in await trail(handle) if entry.kind == "approval"]
    assert reasons[1] == "work/fill/failed#2 retried by ann: amended"


async def test_a_skipped_task_leaves_the_value_that_the_person_gave(here: Engine) -> None:
    handle = await failed(here)
    await handle.signal("skip", {"task": "fill", "value": {"said": "instead"}, "by": "ann"})
    result = await handle.result()
    assert result["context"]["heard"] == "instead"
    [decision] = result["decisions"]
    assert (decision["verdict"], decision["how"]) == ("skipped", "signal")
    ends = {entry.step: entry.status for entry in await trail(handle) if entry.kind == "step"}
    assert ends == {"first": "success", "fill": "skipped", "last": "success"}


async def test_a_person_lets_it_fail_and_nobody_approves_a_failure(here: Engine) -> None:
    handle = await failed(here)
    assert "decide `retry` or `skip`" in await refused(
        handle, {"id": FAILED, "decision": "approve"}
    )
    assert "no failed task 'first' waits" in await refused(handle, {"task": "first"}, "retry")
    await handle.signal("retry", {"task": "last"})
    await decide(handle, FAILED, "reject")
    assert "task 'fill' of team 'work' failed: TemplateFailed" in (await failure(handle)).message
    assert [entry.kind for entry in await trail(handle) if entry.kind == "refused"] == ["refused"]


async def doing(handle: Handle, step: str) -> None:
    """Wait until a step is in progress."""
    for _ in range(1000):
        status = await handle.query("status")
        if step in [one["step"] for one in status["doing"]]:
            return
        await asyncio.sleep(0.02)  # between two looks
    raise AssertionError(f"{step} did not begin")


async def test_a_task_is_skipped_in_its_call_in_its_wait_at_its_approval_or_before_it_begins(
    here: Engine,
) -> None:
    handle: Handle = await here.start(LONG)
    await doing(handle, "work/slow")
    await sent(handle, "skip", {"task": "never", "by": "ann"})
    assert "may not skip the approval" in await refused(handle, {"task": "sign"}, "skip")
    assert "the plan has no task 'slw'" in await refused(handle, {"task": "slw"}, "skip")
    await sent(handle, "skip", {"task": "own", "by": "ann"})
    await sent(handle, "skip", {"task": "slow", "value": "given", "by": "ann"})
    await doing(handle, "work/rest")
    assert "has already ended (skipped)" in await refused(handle, {"task": "slow"}, "skip")
    await sent(handle, "skip", {"task": "work/rest"})
    await doing(handle, "work/heed")
    await sent(handle, "skip", {"task": "heed"})
    await asked(handle)
    assert "'ben' may not decide" in await refused(handle, {"task": "sign", "by": "ben"}, "skip")
    assert "has no value" in await refused(
        handle, {"task": "sign", "by": "ann", "value": {"decision": "approved"}}, "skip"
    )
    await sent(handle, "skip", {"task": "sign", "by": "ann"})
    await doing(handle, "work/each/inner")
    assert "skip the one in progress: 'work/each/inner'" in await refused(
        handle, {"task": "each"}, "skip"
    )
    await sent(handle, "skip", {"task": "each/inner"})
    result = await handle.result()
    assert result["context"]["all"] == ["given", "skipped"]
    assert len(result["decisions"]) == 7
    assert result["model_calls"] == 1


GUARDED = """
orchestration:
  entry_team: a
  groups: {owners: [ada]}
  teams:
    a:
      tasks:
        - {name: heed, type: wait, signal: go, deadline: 30d}
        - name: gate
          type: try
          on_failure: ask
          steps:
            - {name: risky, type: set, values: {word: "{{ context.word }}"}}
            - {name: sign, type: approval, prompt: "Deploy?", approvers: [owners], deadline: 1d}
          finally: [{name: f, type: set, values: {q: 1}}]
        - {name: sign2, type: approval, prompt: "Well?", approvers: [ada], deadline: 1d}
      routing: {rules: [{condition: {task: heed, status: skipped}, next_team: b}], default: null}
    b:
      tasks: [{name: sign2, type: set, values: {plain: 1}}]
      routing: {default: null, context_updates: {plain: "{{ tasks.sign2.status }}"}}
"""


async def test_nobody_skips_an_approval_by_skipping_what_is_around_it(here: Engine) -> None:
    handle: Handle = await here.start(GUARDED)
    await doing(handle, "a/heed")
    message = await refused(handle, {"task": "a/gate", "by": "eve"}, "skip")
    assert (
        "'eve' may not skip 'a/gate', which contains the approval 'a/gate/sign'; allowed: ada"
        in message
    )
    assert "the approval 'a/gate/sign'" in await refused(
        handle, {"task": "a/gate/sign", "by": "eve"}, "skip"
    )
    await sent(handle, "skip", {"task": "b/sign2", "by": "eve"})
    await sent(handle, "skip", {"task": "a/heed", "by": "eve"})
    assert (await asked(handle))["id"] == "a/gate/failed#1"
    assert "which contains the approval" in await refused(
        handle, {"task": "a/gate", "by": "eve"}, "skip"
    )
    await sent(handle, "skip", {"task": "a/gate", "by": "ada"})
    await asked(handle)
    await decide(handle, "a/sign2#1", by="ada")
    assert (await handle.result())["context"]["plain"] == "skipped"


@pytest.mark.parametrize("task", ["a/both/left", "a/each/3/both/left"])
def test_a_way_of_a_parallel_step_is_no_task_to_skip(task: str) -> None:
    inner = """{name: both, type: parallel, branches: {
                left: [{name: left, type: set, values: {x: 1}}],
                right: [{name: one, type: set, values: {y: 1}}]}}"""
    each = f"{{name: each, iterate_on: [1], loop_variable: n, concurrency: 2, body: [{inner}]}}"
    plan = plan_of(f"""
orchestration:
  entry_team: a
  teams: {{a: {{tasks: [{each if "each" in task else inner}]}}}}
""")
    state = RunState(doing={task: 0.0})
    refusal = steering.skip_refusal(plan, state, SkipInput(task=task))
    assert refusal == TaskNotSkippable("TaskIsBranch", task)
    step = f"{task}/left"
    assert steering.skip_refusal(plan, RunState(doing={step: 0.0}), SkipInput(task=step)) is None


def test_a_team_or_all_teams_may_ask_for_the_tasks_that_say_nothing() -> None:
    plan = plan_of("""
orchestration:
  entry_team: plain
  on_failure: ask
  teams:
    plain:
      tasks:
        - {name: a, type: set, values: {x: 1}}
        - {name: b, type: set, values: {x: 1}, on_failure: continue}
        - {name: c, type: approval, prompt: "Well?", deadline: 1h}
        - {name: d, type: fail, message: m}
      routing: {default: round}
    round:
      type: loop
      loop: {iterate_on: [1], loop_variable: x}
      tasks: [{name: e, type: set, values: {x: 1}}]
      routing: {default: other}
    other:
      on_failure: stop
      tasks: [{name: f, type: set, values: {x: 1}}]
""")
    assert [step.on_failure for step in plan.teams["plain"].steps] == [
        "ask",
        "continue",
        None,
        None,
    ]
    [loop] = plan.teams["round"].steps
    assert isinstance(loop, LoopStep)
    assert (loop.on_failure, loop.body[0].on_failure) == (None, "ask")
    assert plan.teams["other"].steps[0].on_failure is None
