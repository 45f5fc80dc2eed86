"""The key of a cached result: an amended plan that takes a grant back gets no result by it."""

import pytest

from dsl.model.capabilities import KeptLabel
from dsl.tool_loop.call_checks import fingerprint
from dsl.values import Json, JsonValue
from tests.support.simulation.stopping import StoppingScope, World, fresh
from tests.support.tool_agents import persona, skill_tool, tool_plan
from workflows.agents.tool_cache import forget_result
from workflows.core.location import Location
from workflows.core.memory import CachedResult
from workflows.core.state_keys import MAIN

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
    search = skill_tool("Web.search", labels=["egress"], cache="run")
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
    search = skill_tool("Web.search", labels=["egress"], cache="run", grants=["private"])
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
