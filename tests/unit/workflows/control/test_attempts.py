"""Attempts of a step: the waits between them, and what a failed one leaves to the next."""

import pytest

from coterie.dsl.values import MAX_DURATION, Json
from coterie.workflows.core.state_keys import MAIN, StateKey
from coterie.workflows.interpreter import run
from tests.support.one_team import agent, work
from tests.support.runs import task_data
from tests.support.simulation.stopping import StoppingScope, World, fresh, undisturbed


def down(_: object) -> Json:
    return {"fails": "ProviderUnavailable"}


@pytest.mark.parametrize(
    ("retry", "waits"),
    [
        ("{retries: 3, interval: 3s, backoff: 2}", [3, 6, 12]),
        ("{retries: 2, interval: 0.5, backoff: 1}", [0.5, 0.5]),
        ("{retries: 3, interval: 20d, backoff: 100}", [1_728_000, 172_800_000, MAX_DURATION]),
        ("{retries: 3, interval: 0}", []),
    ],
    ids=["they double", "they stay", "up to the longest", "none"],
)
async def test_the_waits_between_attempts_grow_by_the_backoff(
    retry: str, waits: list[float]
) -> None:
    step = agent("bad").replace("}", f", retry: {retry}, on_failure: continue}}")
    plan, world = work(f"- {step}\n"), World(down)
    scope = StoppingScope(plan, fresh(plan, {}), world, None)
    await run(scope)
    assert [wait.seconds for wait in scope.noted_waits] == waits


WRITES = "{name: note, type: set, values: {v: 1}, context_updates: {n: {increment: 1}}}"


@pytest.mark.parametrize(
    ("keys", "failures", "context"),
    [
        ("on_failure: continue", 9, {"n": 1}),
        ("on_failure: continue, retry: {retries: 2}", 1, {"n": 1}),
        ("on_failure: continue, retry: {retries: 2}", 9, {}),
        ("on_failure: ask", 9, {}),
        ("on_failure: ask", 1, {"n": 1}),
    ],
    ids=["no other attempt", "the second succeeds", "all fail", "skipped", "a person retries"],
)
async def test_a_failed_attempt_that_others_may_follow_writes_nothing(
    keys: str, failures: int, context: Json
) -> None:
    """Ann retries once what has failed, and then skips it."""
    answers = iter([down(None)] * failures)
    plan = work(f"- {{name: block, type: block, {keys}, steps: [{WRITES}, {agent('ask')}]}}\n")
    result, _ = await undisturbed(plan, {}, lambda _: next(answers, {"n": 1}))
    assert result.context == context


AROUND = {
    "block": "type: block, steps: [STEPS]",
    "try": "type: try, steps: [STEPS], finally: [{name: last, type: set, values: {v: 1}}]",
    "branch": "branches: [{condition: '{{ true }}', steps: [STEPS]}]",
    "parallel": "join: all, branches: {a: [STEPS]}",
    "loop": "iterate_on: [1], loop_variable: n, body: [STEPS]",
}


@pytest.mark.parametrize("kind", AROUND)
async def test_a_step_that_only_a_failed_attempt_ran_reads_as_skipped(kind: str) -> None:
    mark = "{name: mark, type: set, values: {v: 1}}"
    when = "{{ tasks.mark is not defined }}"
    first = f"{{name: first, type: block, when: '{when}', steps: [{mark}]}}"
    around = AROUND[kind].replace("STEPS", f"{first}, {agent('ask')}")
    plan = work(f"""
- {{name: outer, retry: {{retries: 1}}, {around}}}
- {{name: end, type: return, value: "{{{{ tasks.mark.status }}}}"}}
""")
    answers = iter([down(None)])
    result, world = await undisturbed(plan, {}, lambda _: next(answers, {"n": 1}))
    assert (len(world.calls), task_data(result)["end"]) == (2, "skipped")


ASK = agent("ask")
LEFT = StateKey.at(MAIN, "work", 1, "outer/gone")


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    ("step", "is_cut"),
    [
        (f"type: block, steps: [{ASK}]", True),
        (f"iterate_on: [1], loop_variable: n, body: [{ASK}]", True),
        (f"join: best, branches: {{a: [{ASK}]}}", True),
        ("agent_type: generic_single_shot, persona_key: writer, input: x", False),
    ],
    ids=["block", "loop", "parallel", "call"],
)
async def test_a_time_limit_cuts_a_step_of_steps_and_a_call_has_its_own(
    step: str, is_cut: bool, late: bool
) -> None:
    plan = work(f"- {{name: outer, timeout: 5s, on_failure: continue, {step}}}\n")
    state, world = fresh(plan, {}), World(lambda _: {"n": 1})
    is_late = is_cut and late
    if is_late:
        state.progress.tool_retries[LEFT] = 1
    scope = StoppingScope(plan, state, world, None)
    scope.late = late
    await run(scope)
    outcome = state.main.latest["work"]["outer"]
    assert (None if outcome.error is None else outcome.error.type) == (
        "Timeout" if is_late else None
    )
    assert (outcome.data is not None, len(world.calls)) == (not is_late, not is_late)
    assert state.progress.tool_retries == {}
