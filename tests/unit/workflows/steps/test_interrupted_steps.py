"""What is in the middle of its work when a run continues as new, is closed or is cut."""

import asyncio
from collections.abc import Callable
from itertools import chain
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import JsonValue
from temporalio import workflow

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    CallOptions,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.runs.in_process.local_scope import LocalScope
from coterie.storage.wire import data_converter
from coterie.workflows.agents.team_runs import MAX_NESTED
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.scope import Call, Interrupted
from coterie.workflows.core.state import RunState
from coterie.workflows.interpreter import run
from coterie.workflows.temporal.activity_calls import Calls
from coterie.workflows.temporal.pacer import Pacer
from tests.support.compiling import plan_of
from tests.support.one_team import agent, work
from tests.support.runs import task_data
from tests.support.simulation.stopping import (
    StoppingScope,
    World,
    carried,
    fresh,
    stopped_everywhere,
    undisturbed,
)


class PartingScope(StoppingScope):
    """Continues as new in the middle of the first wait of each part, after 3 seconds of it."""

    waits: list[float]

    async def wait_until(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        *,
        boundary: bool = True,
        stands_still: bool = True,
    ) -> bool:
        self.waits.append(seconds or 0)
        if seconds is None or seconds <= 3:
            return await super().wait_until(ready, seconds, summary, boundary=boundary)
        self.world.seconds += 3
        raise Interrupted(seconds - 3)


async def parted(plan: Plan, answer: Callable[[object], Json]) -> tuple[World, list[float], Json]:
    world, state = World(answer), fresh(plan, {})
    waits: list[float] = []
    while True:
        scope = PartingScope(plan, state, world, None)
        scope.waits = waits
        try:
            result = await run(scope)
        except Interrupted:
            state = carried(state)
        else:
            return world, waits, task_data(result)


def failing_once() -> Callable[[object], Json]:
    fails: Json = {"fails": "ProviderUnavailable"}
    answers = iter([fails])
    return lambda _: next(answers, {"n": 1})


async def test_the_rest_of_a_retry_wait_survives_continue_as_new() -> None:
    step = agent("a").replace("}", ", retry: {retries: 1, interval: 10s}}")
    world, waits, output = await parted(work(f"- {step}\n"), failing_once())
    assert waits == [10, 7, 4, 1]
    assert (len(world.calls), output) == (2, {"a": {"n": 1}})
    assert world.seconds == 10 + 2, "a call takes a second"


TRY = f"""
- name: careful
  type: try
  steps: [{agent("a")}, {{name: rest, type: wait, duration: 5s}}, {agent("b")}]
  finally: [{agent("last")}]
"""


async def test_an_interrupted_run_does_not_run_finally_early() -> None:
    world, waits, _ = await parted(work(TRY), lambda _: {"n": 1})
    assert [id.rpartition(".")[2] for id in world.calls] == ["a", "b", "last"]
    assert waits == [5, 2]


class Held(StoppingScope):
    """Never answers the first call."""

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        self.world.calls.append(call.id)
        return await asyncio.get_running_loop().create_future()


async def test_a_run_that_is_put_out_of_memory_does_not_run_finally() -> None:
    plan, world = work(TRY), World(lambda _: {})
    running = run(Held(plan, fresh(plan, {}), world, None))
    running.send(None)
    running.close()
    assert len(world.calls) == 1


class EndsAnyway:
    """A call that has ended in the world when its cancellation comes."""

    def __init__(self) -> None:
        self.began = asyncio.Event()

    def info(self) -> SimpleNamespace:
        return SimpleNamespace(get_current_history_length=lambda: 1)

    async def answer(self, *_: object, **__: object) -> FunctionResult:
        self.began.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            return FunctionResult(data="done")
        raise AssertionError


async def test_a_function_call_that_ended_as_it_was_cancelled_counts_as_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = EndsAnyway()
    monkeypatch.setattr(workflow, "start_activity", there.answer)
    monkeypatch.setattr(workflow, "payload_converter", lambda: data_converter.payload_converter)
    monkeypatch.setattr(workflow, "info", there.info)
    request = FunctionRequest(skill="A.b", key="k")
    call = Call(id="1", summary="a/b", options=CallOptions(timeout=5, retries=0), step="a/b")
    calling = asyncio.create_task(Calls(RunState(), "run", Pacer()).call_function(request, call))
    async with asyncio.timeout(120):
        await there.began.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling


LOOPS = f"""
- name: outer
  iterate_on: [1, 2]
  loop_variable: round
  body:
    - name: inner
      iterate_on: [a, b]
      loop_variable: letter
      concurrency: 2
      body: [{agent("deep", "{{ round }}{{ letter }}")}]
"""


async def test_a_concurrent_loop_within_a_loop_runs_anew_in_each_round() -> None:
    asked: list[JsonValue] = []

    def answer(request: AgentRequest | FunctionRequest) -> Json:
        assert isinstance(request, AgentRequest)
        asked.append(request.inputs["input"])
        return {"n": 1}

    await undisturbed(work(LOOPS), {}, answer)
    assert asked == ["1a", "1b", "2a", "2b"]


BRANCHES = f"""
- {{name: begin, type: set, values: {{list: [1]}}}}
- name: both
  type: parallel
  branches: {{left: [{agent("l")}], right: [{agent("r")}]}}
- {{name: end, type: set, values: {{seen: "{{{{ list }}}}"}}}}
"""


async def test_a_variable_that_no_branch_set_is_not_taken_for_set_after_continue_as_new() -> None:
    result, world = await stopped_everywhere(work(BRANCHES), {}, lambda _: {"n": 1})
    assert len(world.calls) == 2
    assert task_data(result)["end"] == {"seen": [1]}


class CutWorld:
    """Fails the second round of a loop while its first still runs."""

    def __init__(self) -> None:
        self.state = RunState()
        self.seen: list[str] = []

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        match request.task, request.inputs.get("input"):
            case "deep", "a":
                await asyncio.get_running_loop().create_future()
            case "look", _:
                self.seen = [*self.state.frames, *chain(*self.state.progress.kinds())]
            case _:
                pass
        return AgentResponse(success=request.task == "look")

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        raise AssertionError(request)


async def test_rounds_that_were_cut_leave_nothing_behind() -> None:
    tasks = f"""
- name: cut
  iterate_on: [a, b]
  loop_variable: letter
  concurrency: 2
  on_failure: continue
  body: [{agent("deep", "{{ letter }}")}]
- {agent("look")}
"""
    plan, world = work(tasks), CutWorld()
    state = world.state = fresh(plan, {})
    await run(LocalScope(plan, state, world))
    assert world.seen
    assert not [key for key in world.seen if "cut" in key]


NESTED = """
down:
  tasks:
    - name: deeper
      team: down
      when: "{{ context.left > 0 }}"
      input: {left: "{{ context.left - 1 }}"}
    - {name: end, type: set, values: {n: 1}}
"""


@pytest.mark.parametrize("depth", [MAX_NESTED, MAX_NESTED + 1])
async def test_teams_within_teams_are_bounded_at_twenty(depth: int) -> None:
    assert MAX_NESTED == 20, "Python's stack is measured to bear as many"
    plan = work(f"- {{name: call, team: down, input: {{left: {depth - 1}}}}}\n", NESTED)
    if depth <= MAX_NESTED:
        _, world = await undisturbed(plan, {}, lambda _: {})
        assert world.calls == []
        return
    with pytest.raises(RunFailed, match="nested more than 20 deep: 'deeper' of team 'down'"):
        await undisturbed(plan, {}, lambda _: {})


FAN_OUT = f"""
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {{prompts: {{user: "Write {{{{ input }}}}."}}}}
orchestration:
  entry_team: start
  teams:
    start:
      tasks: [{agent("a")}]
      routing: {{rules: [{{condition: all_success, next_team: [left, right], concentrator: both}}]}}
    left: {{tasks: [{agent("l")}], routing: {{default: both}}}}
    right: {{tasks: [{{name: rest, type: wait, duration: 1h}}], routing: {{default: both}}}}
    both:
      type: concentrator
      collect: {{timeout: 10s}}
      tasks: [{{name: seen, type: set, values: {{right: "{{{{ branches.right.status }}}}"}}}}]
"""


class TimedScope(StoppingScope):
    """Continues as new two times while branches run, 4 seconds after each beginning."""

    limits: list[float | None]

    async def together(self, *given: Any, **options: Any) -> frozenset[str]:
        seconds: float | None = options["seconds"]
        self.limits.append(seconds)
        assert seconds is not None
        if len(self.limits) > 2:
            return frozenset()  # the time is up
        raise Interrupted(seconds - 4)


async def test_the_rest_of_a_fan_out_s_time_survives_continue_as_new() -> None:
    plan, world = plan_of(FAN_OUT), World(lambda _: {"n": 1})
    state, limits = fresh(plan, {}), list[float | None]()
    for _ in range(2):
        scope = TimedScope(plan, state, world, None)
        scope.limits = limits
        with pytest.raises(Interrupted):
            await run(scope)
        state = carried(state)
    scope = TimedScope(plan, state, world, None)
    scope.limits = limits
    result = await run(scope)
    assert limits == [10, 6, 2]
    assert result.output == {"seen": {"right": "cancelled"}}
