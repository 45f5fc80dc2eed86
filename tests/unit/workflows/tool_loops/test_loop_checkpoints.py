"""Where a run may stop while an agent uses tools: before each turn and each call, once."""

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.dsl.values import Json
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import (
    ModelScope,
    ModelWorld,
    answer,
    calls,
    function_tool,
    persona,
    tool_plan,
    unusable,
)

TOOLS: dict[str, Json] = {"clock": function_tool("Clock.now", input_schema={"type": "object"})}


class WatchedScope(ModelScope):
    """A scope that notes how many calls the run has made at each checkpoint."""

    async def checkpoint(self) -> None:
        self.seen = [*getattr(self, "seen", []), len(self.world.calls)]
        await super().checkpoint()


def model(request: AgentRequest, number: int) -> AgentResponse:
    return (calls(("clock", {}), ("clock", {})), unusable("no"), answer("done"))[number - 1]


@pytest.mark.parametrize("parallel", [True, False])
async def test_a_run_may_stop_before_each_turn_and_each_call(parallel: bool) -> None:
    of = tool_plan(TOOLS, {"actor": persona("clock", parallel_tool_calls=parallel, max_reasks=1)})
    scope = WatchedScope(of, fresh(of, {}), ModelWorld(model, lambda _: {}), None)
    await run(scope)
    team_and_step, of_calls, of_turns = [0, 0], [1, 2], [3, 4]
    assert scope.seen == [*team_and_step, *of_calls, *of_turns]
