"""The call that sums a conversation up: its budget, its hooks, and its fallbacks."""

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.dsl.model.budgets import Budget
from coterie.dsl.values import JsonValue
from coterie.workflows.core.causes.agent_causes import ConversationCompacted
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.scope import CallFailed
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import ExtendingScope, ModelWorld, answer, calls
from tests.unit.workflows.tool_loops.test_compaction import (
    Model,
    compactions,
    filling,
    found,
    plan,
    ran,
    summary,
)


@pytest.mark.parametrize(("limit", "boundaries"), [(3, [False]), (2, [True]), (9, [])])
async def test_a_budget_admits_a_summary_between_two_turns_of_a_run(
    limit: int, boundaries: list[bool]
) -> None:
    budget = Budget(kind="model_calls", limit=limit, on_exceeded="ask")
    of = plan().model_copy(update={"budgets": (budget,)}).with_digest()
    state = fresh(of, {})
    scope = ExtendingScope(of, state, ModelWorld(filling(), found), None)
    await run(scope)
    assert scope.boundaries == boundaries
    assert [one.used for one in state.balances.values()] == [5]


def with_summary_down(down: set[str]) -> Model:
    """A model that fails to sum up while it is one of those that are down."""
    growing = filling()

    def model(request: AgentRequest, number: int) -> AgentResponse:
        if request.compaction is not None:
            asked = request.provider or (request.persona and request.persona.provider)
            if asked in down:
                raise CallFailed("RateLimited", "later")
        return growing(request, number)

    return model


async def test_a_hook_that_stops_the_fallback_of_a_summary_stops_the_agent() -> None:
    hook: JsonValue = {
        "name": "local_only",
        "on": "before_model_call",
        "when": {"expression": "{{ model == 'other/big' }}"},
        "decide": "reject",
    }
    of = plan(fallback=["other/big"], hooks=[hook])
    with pytest.raises(RunFailed) as failed:
        await ran(of, with_summary_down({"scripted"}))
    assert "HookRejected" in str(failed.value.result.error)


async def test_a_fallback_sums_up_if_the_model_of_the_conversation_does_not() -> None:
    _, world, state = await ran(plan(fallback=["other/big"]), with_summary_down({"scripted"}))
    assert [one.model for one in compactions(state)] == ["other/big"]
    assert "0006.work.act.t3.compact.f1" in world.calls


async def test_a_refused_request_is_summed_up_also_without_a_known_limit() -> None:
    refused: list[int] = []

    def model(request: AgentRequest, number: int) -> AgentResponse:
        if request.compaction is not None:
            return summary()
        if number == 2 and not refused:
            refused.append(number)
            raise CallFailed("ContextWindowExceeded", "too large")
        return answer("done") if refused else calls(("search", {"query": "a"}))

    _, _, state = await ran(plan(compaction={"keep_turns": 1}), model)
    assert compactions(state) == [
        ConversationCompacted("window_exceeded", 0, 0, "scripted/demo", 2, 1)
    ]
