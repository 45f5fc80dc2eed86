"""Hooks of a call that a person edits, or in whose middle the run continues as new."""

from collections.abc import Callable, Mapping, Set
from contextlib import suppress

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.causes.agent_causes import HookDecided
from coterie.workflows.core.causes.people_causes import RequestDecided
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.scope import Interrupted, Jobs
from coterie.workflows.core.state import RunState
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import carried, fresh
from tests.support.tool_agents import (
    QUERY,
    ModelScope,
    ModelWorld,
    answer,
    calls,
    function_tool,
    persona,
    tool_plan,
)

CLOCK = function_tool("Clock.now", input_schema={"type": "object"})


def hook(decide: str, when: str, **more: JsonValue) -> Json:
    condition: Json = {"expression": when}
    return {"name": decide, "on": "before_tool_call", "decide": decide, "when": condition, **more}


def decided(state: RunState) -> list[tuple[str, str]]:
    causes = [entry.cause for entry in state.trail]
    return [(one.decision, one.tool) for one in causes if isinstance(one, HookDecided)]


def one_search(request: AgentRequest, number: int) -> AgentResponse:
    return calls(("search", {"query": "rain"})) if number == 1 else answer("done")


class EditingScope(ModelScope):
    """A scope in which Ann changes the query of each call."""

    query: JsonValue = "rain"

    def decision_about(self, request: Pending) -> DecideInput:
        changed: Json = {"query": self.query}
        return DecideInput(id=request.id, decision="approve", by="ann", payload=changed)


async def edited(query: str, *hooks: Json) -> tuple[ModelWorld, RunState]:
    """The run of an agent whose one call Ann edits."""
    tool = function_tool(input_schema=QUERY, requires_approval={"editable": True})
    plan = tool_plan({"search": tool}, {"actor": persona("search", hooks=[*hooks])})
    state, world = fresh(plan, {}), ModelWorld(one_search, lambda request: request.input)
    scope = EditingScope(plan, state, world, None)
    scope.query = query
    with suppress(RunFailed):
        await run(scope)
    return world, state


def last_text(world: ModelWorld) -> str:
    turn = world.requests[-1].tool_turn
    assert turn is not None
    [result] = turn.results
    return result.text


async def test_a_hook_refuses_arguments_that_a_person_has_changed() -> None:
    rejects = hook("reject", "{{ arguments.query == 'war' }}")
    world, state = await edited("war", rejects)
    assert world.made == []
    assert last_text(world).startswith("HookRejected: ")
    assert decided(state) == [("reject", "search")]


async def test_a_hook_that_fails_on_changed_arguments_ends_the_agent() -> None:
    world, state = await edited("war", hook("fail", "{{ arguments.query == 'war' }}"))
    assert (world.made, len(world.requests)) == ([], 1)
    assert decided(state) == [("fail", "search")]


async def test_a_hook_changes_nothing_that_a_person_has_changed() -> None:
    adds = hook("modify", "{{ true }}", value={"query": "snow"})
    world, state = await edited("sun", adds)
    assert [request.input for request in world.made] == [{"query": "sun"}]
    assert decided(state) == [("modify", "search")]


async def test_changed_arguments_are_called_with_if_no_hook_refuses_them() -> None:
    world, state = await edited("sun", hook("reject", "{{ arguments.query == 'war' }}"))
    assert [request.input for request in world.made] == [{"query": "sun"}]
    assert decided(state) == []


def nested() -> Plan:
    """An agent that calls an agent, which calls a tool; the query of the call is changed."""
    tools: dict[str, Json] = {"clock": CLOCK, "helper": {"agent": "helper", "input_schema": QUERY}}
    adds = hook("modify", "{{ tool == 'helper' }}", value={"query": "snow"})
    return tool_plan(tools, {"actor": persona("helper", hooks=[adds]), "helper": persona("clock")})


class LateScope(ModelScope):
    """Its first attempt of the helper is late; in the next, the run continues as new."""

    begun = 0

    async def together(
        self,
        jobs: Jobs,
        *,
        enough: Callable[[frozenset[str]], bool],
        at_once: int | None = None,
        seconds: float | None = None,
        wake: Callable[[], bool] | None = None,
        begun: Set[str] = frozenset(),
    ) -> frozenset[str]:
        if not isinstance(jobs, Mapping) or "helper" not in jobs:
            return await super().together(jobs, enough=enough, seconds=seconds)
        self.begun += 1
        if self.begun == 1:
            return frozenset()
        raise Interrupted(seconds)


def in_helper(request: AgentRequest, number: int) -> AgentResponse:
    if request.task == "helper":
        return calls(("clock", {})) if number == 1 else answer("helped")
    return calls(("helper", {"query": "rain"})) if number == 1 else answer("done")


@pytest.mark.parametrize("stop", [None, *range(7)])
async def test_what_a_hook_has_decided_counts_after_the_run_continues_as_new(
    stop: int | None,
) -> None:
    plan = nested()
    state, world = fresh(plan, {}), ModelWorld(in_helper, lambda _: {})
    try:
        await run(ModelScope(plan, state, world, stop))
    except Interrupted:
        state = carried(state)
        await run(ModelScope(plan, state, world, None))
    assert decided(state) == [("modify", "helper")]
    turn = next(one.tool_turn for one in world.requests[::-1] if one.task == "act")
    assert turn is not None
    assert [one.text for one in turn.results] == [
        '[The hook modify changed the arguments: query: "rain" -> "snow"]\n{"text":"helped"}'
    ]


async def test_what_people_and_hooks_decided_of_a_late_call_counts_for_its_retry() -> None:
    terms: Json = {"timeout": 5, "retries": 1, "on_error": "retry", "requires_approval": True}
    tools: dict[str, Json] = {
        "clock": CLOCK,
        "helper": {"agent": "helper", "input_schema": QUERY, **terms},
    }
    adds = hook("modify", "{{ tool == 'helper' }}", value={"query": "snow"})
    plan = tool_plan(tools, {"actor": persona("helper", hooks=[adds]), "helper": persona("clock")})
    state, world = fresh(plan, {}), ModelWorld(in_helper, lambda _: {})
    with pytest.raises(Interrupted):
        await run(LateScope(plan, state, world, None))
    state = carried(state)
    await run(ModelScope(plan, state, world, None))
    assert decided(state) == [("modify", "helper")]
    assert [one.cause.by for one in state.trail if isinstance(one.cause, RequestDecided)] == ["ann"]
