"""The budgets of an agent also pay for the agents and teams that it calls as tools."""

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse, TokenUsage
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.results import RunFailed
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import (
    MODEL,
    QUERY,
    ModelScope,
    ModelWorld,
    answer,
    calls,
    persona,
    tool_plan,
)

USED = TokenUsage(input_tokens=50, output_tokens=10)
TOOLS: dict[str, dict[str, Json]] = {
    "agent": {"ask": {"agent": "writer", "input_schema": QUERY}},
    "nested agent": {
        "ask": {"agent": "middle", "input_schema": QUERY},
        "deeper": {"agent": "writer", "input_schema": QUERY},
    },
    "team": {"ask": {"team": "helpers", "input_schema": {"type": "object"}}},
    "team of its plan": {},
}
"""Ways from the agent `actor` to the one that uses something, the persona `writer`."""
HELPERS: Json = {
    "id": "helpers",
    "steps": [{"name": "help", "agent_type": "generic_single_shot", "persona_key": "writer"}],
}


def model(request: AgentRequest, number: int) -> AgentResponse:
    """Call on and on; only the writer uses anything."""
    if request.task == "act" or (request.tool_turn is not None and number == 1):
        return calls(("ask" if request.task == "act" else "deeper", {"query": "rain"}))
    if request.tool_turn is not None:
        return answer("found")
    return answer("found").model_copy(update={"usage": USED, "cost": 0.3, "seconds": 6.0})


@pytest.mark.parametrize("way", TOOLS)
@pytest.mark.parametrize(
    ("kind", "limit", "used"),
    [
        ("tokens", 100, "120 of 100 tokens"),
        ("money", 0.5, "0.60 of 0.50 USD"),
        ("working_time", 10, "12 of 10 s"),
    ],
)
async def test_a_parent_pays_for_what_it_calls_until_its_budget_is_used_up(
    way: str, kind: str, limit: float, used: str
) -> None:
    plain: Json = {**MODEL, "prompts": {"user": "Help."}}
    personas: dict[str, Json] = {"actor": persona("ask"), "writer": plain}
    step: Json = {}
    if way == "nested agent":
        personas["middle"] = persona("deeper")
    if way == "team of its plan":
        steps: list[JsonValue] = [
            {"name": f"t{n}", "kind": "team", "team": "helpers"} for n in range(4)
        ]
        personas["actor"], step = (
            {**MODEL, "execution_plan": steps},
            {"agent_type": "generic_orchestrating"},
        )
    budget: Json = {"scope": "persona", "name": "actor", "kind": kind, "limit": limit}
    teams = {"helpers": HELPERS} if "team" in way else None
    ample: list[JsonValue] = [{"kind": kind, "limit": 1_000}] if kind == "tokens" else []
    budgets: list[JsonValue] = [budget, *ample]
    plan = tool_plan(TOOLS[way], personas, step=step, teams=teams, budgets=budgets)
    world = ModelWorld(model, lambda _: None)
    with pytest.raises(RunFailed) as failed:
        await run(ModelScope(plan, fresh(plan, {}), world, None))
    assert failed.value.type == "BudgetExceeded"
    assert f"of the persona actor is used up, {used}" in str(failed.value)
    assert len([one for one in world.requests if one.tool_turn is None]) == 2
