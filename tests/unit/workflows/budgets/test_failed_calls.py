"""A model turn that failed: its outcome, what it counts, and that its budgets pay for it."""

import pytest

from coterie.activities.contracts import AgentError, AgentRequest, AgentResponse, Spent, TokenUsage
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.agents.model_turns import is_worth_a_reask, turn_outcome
from coterie.workflows.core.scope import CallFailed
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import ModelScope, ModelWorld, persona, tool_plan

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


DATA: JsonValue = {"n": 1}
UNUSABLE = AgentError(type="AnswerUnusable", message="no n")
REFUSED = AgentError(type="AnswerRefused", message="no")
NO_REASON = "the agent reports a failure without an error"


@pytest.mark.parametrize(
    ("response", "outcome", "is_asked_again"),
    [
        (AgentResponse(data=DATA), Outcome.succeeded(DATA), False),
        (
            AgentResponse(success=False, data=DATA, error=UNUSABLE),
            Outcome.failed("AnswerUnusable", "no n", DATA),
            True,
        ),
        (
            AgentResponse(success=False, error=REFUSED),
            Outcome.failed("AnswerRefused", "no"),
            False,
        ),
        (
            AgentResponse(success=False, data=DATA),
            Outcome.failed("AgentFailed", NO_REASON, DATA),
            False,
        ),
    ],
    ids=["answer", "unusable", "refused", "no reason"],
)
def test_the_response_of_a_turn_is_its_outcome_and_an_unusable_one_is_asked_again(
    response: AgentResponse, outcome: Outcome, is_asked_again: bool
) -> None:
    assert turn_outcome(response) == outcome
    assert is_worth_a_reask(response) is is_asked_again
