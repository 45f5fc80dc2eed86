"""The events of `tool` steps: each call has one start and one end, and plans before had none."""

from contextlib import suppress

import pytest

from coterie.display.following.plain_view import event_lines
from coterie.dsl.model.plan import Plan
from coterie.text.moments import clock
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.state import RunState
from coterie.workflows.handlers.query_handlers import events
from coterie.workflows.interpreter import run
from tests.support.compiling import plan_of
from tests.support.simulation.stopping import (
    Answer,
    StoppingScope,
    World,
    fresh,
    stopped_everywhere,
)

PLAN = """
tools: {sum: {skill: Calculator.evaluate, requires_approval: true}}
orchestration:
  entry_team: a
  teams:
    a:
      tasks:
        - name: compute
          type: tool
          tool: "{{ context.wanted }}"
          arguments: {expression: 1+1}
          MORE
"""
GOOD: Answer = lambda _: {"value": 2}  # noqa: E731
BAD: Answer = lambda _: {"fails": "FunctionFailed"}  # noqa: E731


async def ran(plan: Plan, answer: Answer, wanted: str = "sum") -> RunState:
    state = fresh(plan, {"wanted": wanted})
    with suppress(RunFailed):
        await run(StoppingScope(plan, state, World(answer), None))
    return state


def named(state: RunState) -> list[tuple[str | None, str | None, str]]:
    return [
        (one.event, one.status, one.because)
        for one in events(state, 0).entries
        if one.event is not None
    ]


def plan(more: str = "") -> Plan:
    return plan_of(PLAN.replace("MORE", more))


async def test_a_tool_step_has_a_start_and_an_end() -> None:
    state = await ran(plan(), GOOD)
    assert named(state) == [
        ("tool_start", "started", "calls the tool sum"),
        ("tool_end", "success", ""),
    ]
    assert state.progress.called_tools == {}
    entries = [one for one in events(state, 0).entries if one.event is not None]
    at = [clock(one.at) for one in entries]
    assert list(event_lines(entries)) == [
        f"{at[0]}  tool_start  a#1/compute: calls the tool sum",
        f"{at[1]}  tool_end  a#1/compute: success (1 s)",
    ]


async def test_all_attempts_of_a_step_are_one_call() -> None:
    state = await ran(plan("retry: {retries: 2, interval: 1s}"), BAD)
    assert [one[:2] for one in named(state)] == [
        ("tool_start", "started"),
        ("tool_end", "failure"),
    ]


async def test_a_call_that_cannot_begin_has_no_events() -> None:
    assert named(await ran(plan(), GOOD, wanted="product")) == []


async def test_a_run_that_continues_as_new_begins_the_call_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    states: list[RunState] = []

    def kept(of: Plan, context: object) -> RunState:
        states.append(fresh(of, {"wanted": "sum"}))
        return states[-1]

    resumed = RunState.resumed
    monkeypatch.setattr("tests.support.simulation.stopping.fresh", kept)

    def again(carried: object) -> RunState:
        states.append(resumed(carried))  # type: ignore[arg-type]
        return states[-1]

    monkeypatch.setattr(RunState, "resumed", again)
    await stopped_everywhere(plan(), {}, GOOD)
    assert [one[0] for one in named(states[-1])] == ["tool_start", "tool_end"]
    assert len(states) > 1


async def test_runs_of_earlier_plans_have_no_events() -> None:
    older = plan().model_copy(update={"tool_events": False})
    assert named(await ran(older, GOOD)) == []


async def test_a_plan_without_tools_says_nothing_of_them() -> None:
    text = "orchestration: {entry_team: a, teams: {a: {tasks: [{name: x, type: set, values: {}}]}}}"
    assert plan_of(text).tool_events is False
    assert plan().tool_events is True
