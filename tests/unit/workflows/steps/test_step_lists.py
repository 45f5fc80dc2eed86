"""A list of steps: which of them run, what the list comes to, and what the trail says of each."""

import asyncio
from dataclasses import replace

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import AgentRequest, AgentResponse, FunctionRequest, TokenUsage
from coterie.dsl.model.causes import RunCancelled
from coterie.dsl.model.outcomes import Failure
from coterie.dsl.values import Json
from coterie.workflows.core.causes.step_causes import Failed, StepStated, WhenAsked
from coterie.workflows.core.messages import SkipInput
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.scope import Call, Interrupted
from coterie.workflows.core.state import RunState
from coterie.workflows.interpreter import run
from tests.support.compiling import plan_of
from tests.support.one_team import agent, document, work
from tests.support.runs import task_data
from tests.support.simulation.stopping import StoppingScope, World, fresh

BROKEN = Failed("failed", Failure("Broken", "on purpose"))


def answer(request: AgentRequest | FunctionRequest) -> Json:
    assert isinstance(request, AgentRequest)
    return {"fails": "Broken"} if request.task.startswith("bad") else {"n": 1}


class UsingScope(StoppingScope):
    """A scope each of whose model calls uses eight tokens."""

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        response = await super().run_agent(request, call)
        return response.model_copy(update={"usage": TokenUsage(5, 3)})


def _steps(state: RunState) -> list[tuple[str | None, str | None, object, float | None]]:
    trail = [one for one in state.trail if one.kind == "step"]
    return [(one.step, one.status, one.cause, one.seconds) for one in trail]


def _continued(name: str) -> str:
    return agent(name).replace("}", ", on_failure: continue}", 1)


async def test_every_step_of_a_list_has_an_entry_with_its_time_tokens_and_reason() -> None:
    plan = work(
        f"""
- {agent("first")}
- {{name: chosen, type: set, values: {{x: 1}}, when: "{{{{ context.n == 7 }}}}"}}
- {{name: refused, type: set, values: {{x: 1}}, when: "{{{{ context.n == 8 }}}}"}}
- {{name: wrong, type: set, values: {{x: 1}}, when: "{{{{ context.x.y }}}}",
    on_failure: continue}}
- {_continued("bad_first").replace("}", ", when: '{{ context.n > 6 }}'}", 1)}
- {{name: inside, type: block, steps: [{agent("bad_second")}, {agent("later")}],
    on_failure: continue}}
- {agent("last")}
"""
    )
    state = fresh(plan, {"n": 7})
    await run(UsingScope(plan, state, World(answer), None))
    entries = [replace(one, cause=None) for one in state.trail if one.kind == "step"]
    assert [(one.step, one.status, one.seconds, one.tokens) for one in entries] == [
        ("first", "success", 1.0, 8),
        ("chosen", "success", 0.0, None),
        ("refused", "skipped", None, None),
        ("wrong", "failure", None, None),
        ("bad_first", "failure", 1.0, None),
        ("inside/bad_second", "failure", 1.0, None),
        ("inside/later", "skipped", None, None),
        ("inside", "failure", 1.0, None),
        ("last", "success", 1.0, 8),
    ]
    causes = {one.step: one.cause for one in state.trail if one.kind == "step"}
    assert causes["first"] is causes["last"] is causes["chosen"] is None
    shown = {one.step: one.to_entry() for one in state.trail if one.kind == "step"}
    assert {step: one.ran_because for step, one in shown.items() if one.ran_because} == {
        "chosen": "context.n is 7 (context.n == 7)",
        "bad_first": "context.n is 7 (context.n > 6)",
    }
    assert shown["refused"].because == "its `when` does not hold: context.n is 7 (context.n == 8)"
    assert isinstance(causes["refused"], WhenAsked)
    assert causes["refused"].code == "when_did_not_hold"
    assert isinstance(causes["wrong"], Failed)
    assert (causes["wrong"].code, causes["wrong"].failure.type) == ("when_failed", "TemplateFailed")
    assert causes["bad_first"] == causes["inside/bad_second"] == causes["inside"] == BROKEN
    assert causes["inside/later"] == StepStated("earlier_step_failed")
    assert state.doing == {}
    assert state.progress.sequences == {}


@pytest.mark.parametrize(
    ("steps", "status", "data"),
    [
        ([agent("one"), agent("two")], "success", {"n": 1}),
        ([agent("one"), _continued("bad_two")], "success", None),
        ([agent("bad_one"), agent("two")], "failure", None),
        ([_continued("bad_one"), agent("two")], "success", {"n": 1}),
        (
            [agent("one"), "{name: two, type: set, values: {x: 1}, when: '{{ false }}'}"],
            "success",
            None,
        ),
    ],
    ids=["all", "last one failed on", "first one failed", "first one failed on", "last skipped"],
)
async def test_a_list_comes_to_its_first_failure_or_to_its_last_step(
    steps: list[str], status: str, data: JsonValue
) -> None:
    text = "".join(f"\n    - {step}" for step in steps)
    plan = work(f"- name: all\n  type: block\n  on_failure: continue\n  steps:{text}\n")
    state = fresh(plan, {})
    result = await run(StoppingScope(plan, state, World(answer), None))
    ended = next(one for one in state.trail if one.step == "all")
    assert ended.status == status
    assert task_data(result).get("all") == data


async def test_steps_in_progress_are_listed_outermost_first_with_their_start() -> None:
    seen: list[dict[str, float]] = []
    plan = work(f"""
- {agent("first")}
- {{name: outer, type: block, steps: [{agent("second")}, {agent("third")}]}}
""")
    state = fresh(plan, {})

    def looking(request: AgentRequest | FunctionRequest) -> Json:
        seen.append(dict(state.doing))
        return answer(request)

    scope = StoppingScope(plan, state, World(looking), None)
    began = scope.time()
    await run(scope)
    assert seen == [
        {"work/first": began},
        {"work/outer": began + 1, "work/outer/second": began + 1},
        {"work/outer": began + 1, "work/outer/third": began + 2},
    ]
    assert list(seen[1]) == ["work/outer", "work/outer/second"]
    assert state.doing == {}


async def test_a_step_that_a_run_resumes_keeps_its_start() -> None:
    plan = work(f"- {{name: outer, type: block, steps: [{agent('one')}, {agent('two')}]}}")
    state, world = fresh(plan, {}), World(answer)
    scope = StoppingScope(plan, state, world, 3)
    with pytest.raises(Interrupted):
        await run(scope)
    began, world.seconds = scope.time() - 1, 100
    seen: list[dict[str, float]] = []
    world.answer = lambda request: (seen.append(dict(state.doing)), answer(request))[1]
    await run(StoppingScope(plan, state, world, None))
    assert seen == [{"work/outer": began, "work/outer/two": scope.time() - 1}]


@pytest.mark.parametrize("value", [None, {"n": 2}])
async def test_a_step_that_a_person_skips_has_the_value_that_they_gave(value: JsonValue) -> None:
    plan = work(f"- {agent('one')}\n- {{name: end, type: return, value: '{{{{ tasks.one }}}}'}}")
    state = fresh(plan, {})
    state.skips["work/one"] = SkipInput(task="work/one", value=value, by="ann")
    world = World(answer)
    await run(StoppingScope(plan, state, world, None))
    code = "skipped_by_person" if value is None else "skipped_with_value"
    assert _steps(state)[0] == ("one", "skipped", StepStated(code), None)
    assert (state.skips, world.calls) == ({}, [])


SEEN = "[tasks.outer.status, tasks.outer.data, tasks.outer.seconds]"
END = f"{{name: end, type: return, value: '{{{{ {SEEN} }}}}'}}"


async def test_a_step_that_is_skipped_as_it_ends_is_skipped_and_took_its_time() -> None:
    plan = work(f"- {{name: outer, type: block, steps: [{agent('one')}]}}\n- {END}")
    state = fresh(plan, {})

    def skipping(request: AgentRequest | FunctionRequest) -> Json:
        state.skips["work/outer"] = SkipInput(task="work/outer", value=7, by="ann")
        return answer(request)

    result = await run(StoppingScope(plan, state, World(skipping), None))
    assert task_data(result)["end"] == ["skipped", 7, 1.0]
    assert _steps(state)[1] == ("outer", "skipped", StepStated("skipped_with_value"), 1.0)


class CancelledScope(StoppingScope):
    """A scope whose first call is cancelled, with the run or on its own."""

    reason: str | None = None

    def cancelled(self) -> str | None:
        return self.reason

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        self.world.seconds += 1
        raise asyncio.CancelledError


@pytest.mark.parametrize("reason", [None, "", "too late"])
async def test_a_step_says_that_it_stops_because_the_run_is_cancelled(reason: str | None) -> None:
    plan = work(f"- {{name: outer, type: block, steps: [{agent('one')}]}}")
    state = fresh(plan, {})
    scope = CancelledScope(plan, state, World(answer), None)
    scope.reason = reason
    with pytest.raises(asyncio.CancelledError):
        await run(scope)
    stopped = [(one.step, one.status, one.cause) for one in state.trail]
    cause = StepStated("run_cancelled")
    assert stopped[2:] == (
        []
        if reason is None
        else [
            (None, "cancelled", RunCancelled("cancelled", reason or None)),
            ("outer/one", "cancelled", cause),
            ("outer", "cancelled", cause),
        ]
    )
    assert state.doing == {}


async def test_the_first_failure_counts_where_a_team_goes_on_after_it() -> None:
    fail = "{{name: {0}, type: fail, message: {0}}}"
    tasks = "".join(f"- {one}\n" for one in (fail.format("x"), agent("y"), fail.format("z")))
    text = document(tasks).replace("      tasks:", "      stop_on_failure: false\n      tasks:")
    plan = plan_of(text)
    for stop_at in (None, 2):  # also where the run continues as new after the failure
        state = fresh(plan, {})
        if stop_at is not None:
            with pytest.raises(Interrupted):
                await run(StoppingScope(plan, state, World(answer), stop_at))
        with pytest.raises(RunFailed, match="x"):
            await run(StoppingScope(plan, state, World(answer), None))
        assert [(step, status) for step, status, *_ in _steps(state)] == [
            ("x", "failure"),
            ("y", "success"),
            ("z", "failure"),
        ]
        routed = next(one for one in state.trail if one.kind == "route")
        assert "x" in routed.because
        assert "z" not in routed.because
        assert state.progress.sequences == {}


async def test_a_cancelled_run_does_not_say_that_a_plan_that_returns_stops_for_that() -> None:
    plan = work("- {name: outer, type: block, steps: [{name: end, type: return, value: 1}]}")
    state = fresh(plan, {})
    scope = CancelledScope(plan, state, World(answer), None)
    scope.reason = "too late"
    await run(scope)
    assert [one.status for one in state.trail if one.kind == "control"] == []
    assert "cancelled" not in [status for _, status, *_ in _steps(state)]


@pytest.mark.parametrize(
    ("second", "skipped", "seen"),
    [
        ("", False, {"n": 2}),
        (", when: '{{ false }}'", False, {"n": 1}),
        (", on_failure: continue, fail_when: '{{ true }}'", False, {"n": 1}),
        ("", True, 7),
    ],
    ids=["ran", "did not run", "failed with a result", "skipped with a value"],
)
async def test_an_output_variable_keeps_the_latest_result_that_somebody_can_use(
    second: str, skipped: bool, seen: JsonValue
) -> None:
    first, other = (
        agent(name).replace("}", f", output_variable: found{more}}}", 1)
        for name, more in (("one", ""), ("two", second))
    )
    plan = work(f"- {first}\n- {other}\n- {{name: end, type: return, value: '{{{{ found }}}}'}}")
    state = fresh(plan, {})
    if skipped:
        state.skips["work/two"] = SkipInput(task="work/two", value=7, by="ann")

    def counting(request: AgentRequest | FunctionRequest) -> Json:
        assert isinstance(request, AgentRequest)
        return {"n": 1 if request.task == "one" else 2}

    result = await run(StoppingScope(plan, state, World(counting), None))
    assert task_data(result)["end"] == seen
