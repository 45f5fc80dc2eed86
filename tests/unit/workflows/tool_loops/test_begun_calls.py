"""Calls of one turn that had begun when the run continued as new come back first."""

import pytest

from coterie.dsl.values import Json
from coterie.workflows.core.scope import Interrupted
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import carried, fresh
from tests.support.tool_agents import (
    MODEL,
    QUERY,
    ModelScope,
    ModelWorld,
    answer,
    calls,
    function_tool,
    persona,
    tool_plan,
)

HELP: tuple[str, Json] = ("helper", {"query": "rain"})
TOOLS: dict[str, Json] = {
    "helper": {
        "agent": "helper",
        "input_schema": QUERY,
        "stateful": True,
        "requires_approval": True,
    },
    "clock": function_tool("Clock.now", input_schema={"type": "object"}),
}
HELPER: Json = {**MODEL, "prompts": {"user": "Help with {{ input.query }}."}}


async def begun_after(stop_at: int) -> list[list[str]]:
    """Which calls had begun: at first, and in the run that continued as new at a checkpoint."""
    plan = tool_plan(TOOLS, {"actor": persona(*TOOLS), "helper": HELPER})
    turn = calls(HELP, ("clock", {}), HELP)
    world = ModelWorld(
        lambda request, number: (
            answer("helped") if request.task == "helper" or number > 1 else turn
        ),
        lambda _: None,
    )
    state, begun = fresh(plan, {}), list[frozenset[str]]()
    for stop in (stop_at, None):
        scope = ModelScope(plan, state, world, stop)
        scope.begun_jobs = begun
        try:
            await run(scope)
            break
        except Interrupted:
            state = carried(state)
    return [sorted(one) for one in begun]


@pytest.mark.parametrize(
    ("stop_at", "begun"),
    [(2, []), (3, ["helper"])],
    ids=["before the first call", "in the first of two calls of a stateful agent"],
)
async def test_calls_in_a_row_have_begun_if_one_of_them_has(stop_at: int, begun: list[str]) -> None:
    assert await begun_after(stop_at) == [[], begun]
