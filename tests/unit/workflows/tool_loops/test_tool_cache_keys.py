"""The key of a cached result: what ran, and the grants that counted."""

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.dsl.model.capabilities import KeptLabel
from coterie.dsl.tool_loop.call_checks import fingerprint
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.agents.tool_kinds import forget_result
from coterie.workflows.core.location import Location
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.state_keys import MAIN
from coterie.workflows.core.state_parts import CachedResult
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import StoppingScope, World, fresh
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

GIVEN: Json = {"query": "x"}


@pytest.mark.parametrize(
    ("kept", "asked", "same"),
    [
        ((), (), True),
        (("private", "untrusted"), ("untrusted", "private"), True),
        (("private",), (), False),
        ((), ("private",), False),
        (("private",), ("untrusted",), False),
    ],
)
def test_a_result_is_that_of_a_call_with_the_same_grants(
    kept: tuple[KeptLabel, ...], asked: tuple[KeptLabel, ...], same: bool
) -> None:
    search = function_tool("Web.search", labels=["egress"], cache="run")
    plan = tool_plan({"search": search}, {"actor": persona("search")})
    tool, state = plan.tools["search"], fresh(plan, {})
    grants: list[JsonValue] = [[*sorted(kept)]] if kept else []
    key = fingerprint(["search", tool.contract, GIVEN, *grants])
    state.cached_results[key] = CachedResult(data=1)
    scope = StoppingScope(plan, state, World(lambda _: {}), None)
    asking = tool.model_copy(update={"grants": asked})
    forget_result("search", asking, GIVEN, Location.of_visit(MAIN, "work", 1), scope)
    assert (state.cached_results == {}) is same


@pytest.mark.parametrize(("granted_around", "same"), [(True, True), (False, False)])
def test_a_grant_that_does_not_count_gets_no_result_by_it(granted_around: bool, same: bool) -> None:
    search = function_tool("Web.search", labels=["egress"], cache="run", grants=["private"])
    helper: Json = {"agent": "actor", "grants": ["private"] if granted_around else []}
    tools = {"search": search, "helper": helper}
    plan = tool_plan(tools, {"actor": persona("search")}, narrow_grants=True)
    tool, state = plan.tools["search"], fresh(plan, {})
    key = fingerprint(["search", tool.contract, GIVEN, ["private"]])
    state.cached_results[key] = CachedResult(data=1)
    place = Location.of_visit(MAIN, "work", 1).within_tool("helper")
    forget_result(
        "search", tool, GIVEN, place, StoppingScope(plan, state, World(lambda _: {}), None)
    )
    assert (state.cached_results == {}) is same


class EditingScope(ModelScope):
    """A scope in which Ann changes the first arguments that she sees, and approves the others."""

    def decision_about(self, request: Pending) -> DecideInput:
        asked = super().decision_about(request)
        edit: Json = {"query": "snow"}
        if not request.id.endswith("@1.1#1"):
            return asked
        return DecideInput(id=asked.id, decision="approve", by="ann", payload=edit)


async def test_a_result_is_that_of_the_arguments_that_ran_and_not_of_those_asked_for() -> None:
    asked = ["rain", "snow", "rain"]

    def model(request: AgentRequest, number: int) -> AgentResponse:
        if number > len(asked):
            return answer("done")
        return calls(("search", {"query": asked[number - 1]}))

    search = function_tool(input_schema=QUERY, cache="run", requires_approval={"editable": True})
    plan = tool_plan({"search": search}, {"actor": persona("search")})
    world, state = ModelWorld(model, lambda request: request.input), fresh(plan, {})
    await run(EditingScope(plan, state, world, None))
    assert [one.input for one in world.made] == [{"query": "snow"}, {"query": "rain"}]
    assert [one.step for one in state.trail if one.status == "cached"] == ["act/search@2.1"]
    turns = [one.tool_turn for one in world.requests if one.tool_turn is not None]
    assert [result.text for turn in turns for result in turn.results] == [
        '[A person changed the arguments: query: "rain" -> "snow"]\n{"query":"snow"}',
        '{"query":"snow"}',
        '{"query":"rain"}',
    ]
