"""Calls that take long: a run continues as new while it asks for them, and begins them once."""

from collections.abc import Callable

import pytest

from coterie.activities.contracts import FunctionRequest
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.interpreter import run
from tests.support.simulation.egress_runs import ANY, PeopleScope, ran
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import ModelWorld, function_tool, persona, tool_plan
from tests.unit.workflows.approvals.test_tool_questions import model

BUILD: tuple[str, Json] = ("build", {"path": "a"})


def plan(effect: str) -> Plan:
    terms: Json = {"effect": effect, "timeout": 3_660, "retries": 0}
    tool = function_tool("CommandRunner.run_once", input_schema=ANY)
    return tool_plan({"build": {**tool, "terms": terms}}, {"actor": persona("build")})


def building(looks: int) -> Callable[[FunctionRequest], JsonValue]:
    """A worker whose call takes so many activities after the first one."""
    left = [looks]

    def function(request: FunctionRequest) -> JsonValue:
        if request.given_input is not None:
            left[0] -= 1
        if not left[0]:
            return "built"
        return {"fails": "InputRequired", "asks": {"task": {"id": "job-1"}}}

    return function


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("effect", ["read", "once"])
async def test_a_call_is_begun_once_wherever_the_run_continues_as_new(
    effect: str, everywhere: bool
) -> None:
    one = await ran(plan(effect), model([BUILD]), function=building(20), everywhere=everywhere)
    assert one.result.output == {"act": {"text": "done"}}
    begun = [request for request in one.world.made if request.given_input is None]
    assert len(begun) == 1
    assert len(one.world.made) == 1 + 20
    assert {request.key for request in one.world.made} == {begun[0].key}
    turn = one.world.requests[-1].tool_turn
    assert turn is not None
    assert [result.text for result in turn.results] == ["built"]
    assert one.asked == []


class CountingScope(PeopleScope):
    """Counts where the run may continue as new."""

    checkpoints = 0

    async def checkpoint(self) -> None:
        self.checkpoints += 1
        await super().checkpoint()


async def checkpoints(looks: int) -> int:
    """How often a run with a long call may continue as new, by how often it asks for the call."""
    of = plan("read")
    scope = CountingScope(of, fresh(of, {}), ModelWorld(model([BUILD]), building(looks)), None)
    await run(scope)
    return scope.checkpoints


async def test_a_run_may_continue_as_new_before_each_look_at_a_long_call() -> None:
    assert await checkpoints(6) == await checkpoints(2) + 4
