"""A model turn that failed after it has used tokens is counted, and its budgets pay for it."""

import pytest

from activities.contracts import AgentRequest, AgentResponse, Spent, TokenUsage
from dsl.values import Json, JsonValue
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import ModelScope, ModelWorld, persona, tool_plan
from workflows.core.scope import CallFailed
from workflows.interpreter import run

SPENT = Spent(usage=TokenUsage(input_tokens=100, output_tokens=10), cost=0.5)
TOKENS: list[JsonValue] = [{"kind": "tokens", "limit": 1_000}]


def fails(_: AgentRequest, __: int) -> AgentResponse:
    raise CallFailed("AgentRefused", "on purpose", SPENT)


@pytest.mark.parametrize("kind", ["generic_single_shot", "generic_tool_calling"])
@pytest.mark.parametrize("budgets", [[], TOKENS], ids=["no budget", "budget"])
async def test_a_failed_call_is_counted_and_paid_with_what_it_used(
    kind: str, budgets: list[JsonValue]
) -> None:
    step: Json = {"agent_type": kind, "on_failure": "continue"}
    plan = tool_plan({}, {"actor": persona()}, step=step, budgets=budgets)
    state = fresh(plan, {})
    await run(ModelScope(plan, state, ModelWorld(fails, lambda _: None), None))
    (tally,) = (one for one in state.tallies.values() if one.model)
    assert (tally.calls, tally.input_tokens, tally.output_tokens, tally.cost) == (1, 100, 10, 0.5)
    assert state.usage.total == 110
    assert [one.used for one in state.balances.values()] == [110] * len(budgets)
