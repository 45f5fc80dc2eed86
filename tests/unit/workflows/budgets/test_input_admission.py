"""A turn whose input alone exceeds what a budget has left does not begin."""

from collections.abc import Callable

import pytest

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    CompactionTurn,
    ContextUse,
    Conversation,
    TokenUsage,
)
from coterie.dsl.errors import BudgetExceeded
from coterie.dsl.model.budgets import Budget
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.price import Price
from coterie.dsl.tool_loop.exchange import ToolResult, ToolTurn
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.budgets.call_admission import admit_input, remember_tokens
from coterie.workflows.core.location import Location
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import MAIN
from coterie.workflows.core.state_parts import BudgetBalance
from coterie.workflows.core.views import TeamResult
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import fresh
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

Model = Callable[[AgentRequest, int], AgentResponse]
TOOLS: dict[str, Json] = {"search": function_tool(input_schema=QUERY)}


def plan(*budgets: JsonValue, given: str = "it", **more: JsonValue) -> Plan:
    return tool_plan(
        TOOLS,
        {"actor": persona("search", **more)},
        step={"input": given},
        budgets=list(budgets),
        prices={"scripted/demo": {"input": 1_000, "output": 1_000, "cached": 100}},
    )


def used(response: AgentResponse, sent: int, wrote: int = 0) -> AgentResponse:
    return response.model_copy(update={"usage": TokenUsage(sent, wrote), "cost": 0.0})


class Approving(ModelScope):
    def decision_about(self, request: Pending) -> DecideInput:
        payload: Json = {"extend_by": 5_000}
        return DecideInput(id=request.id, decision="approve", by="ann", payload=payload)


def two_turns(request: AgentRequest, number: int) -> AgentResponse:
    if number == 1:
        return used(calls(("search", {"query": "a"})), 900, 50)
    return used(answer("done"), 990)


async def ran(
    of: Plan, model: Model = two_turns, kind: type[ModelScope] = ModelScope
) -> tuple[TeamResult, ModelWorld, RunState]:
    world, state = ModelWorld(model, lambda _: "x" * 400), fresh(of, {})
    return await run(kind(of, state, world, None)), world, state


async def test_a_prompt_that_is_larger_than_the_budget_is_not_sent() -> None:
    of = plan({"kind": "tokens", "limit": 1_000}, given="x" * 8_000)
    world = ModelWorld(two_turns, lambda _: "x")
    with pytest.raises(RunFailed) as failed:
        await run(ModelScope(of, fresh(of, {}), world, None))
    assert "the token budget of the run has 1,000 of 1,000 tokens left" in str(failed.value)
    assert "the next call would send 2,0" in str(failed.value)
    assert world.requests == []


@pytest.mark.parametrize(("limit", "turns"), [(1_999, 1), (2_010, 2)])
async def test_a_later_turn_sends_what_the_provider_counted_before(limit: int, turns: int) -> None:
    """Of 950 tokens each; the result of the call has 101."""
    of = plan({"kind": "tokens", "limit": limit})
    world = ModelWorld(two_turns, lambda _: "x" * 400)
    state = fresh(of, {})
    if turns == 2:
        await run(ModelScope(of, state, world, None))
    else:
        with pytest.raises(RunFailed, match="would send 1,05"):
            await run(ModelScope(of, state, world, None))
    assert len(world.requests) == turns


async def test_a_person_may_extend_the_budget_before_the_call() -> None:
    asking: Json = {"kind": "tokens", "limit": 1_500, "on_exceeded": "ask"}
    result, world, state = await ran(plan(asking), kind=Approving)
    assert result.output == {"act": {"text": "done"}}
    assert len(world.requests) == 2
    assert state.balances["run.tokens"].extended == 5_000


async def test_a_budget_of_money_takes_what_is_in_the_cache_for_its_price() -> None:
    """950 cached tokens cost 0.095, and 101 others 0.1."""
    of = plan({"kind": "money", "limit": 0.19})
    with pytest.raises(RunFailed, match="would send"):
        await ran(of)
    result, _, _ = await ran(plan({"kind": "money", "limit": 0.25}))
    assert result.output == {"act": {"text": "done"}}


async def test_after_a_compaction_less_is_sent() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        if request.compaction is not None:
            made = used(AgentResponse(data={"summarised": 1, "kept": 1}), 900)
            return made.model_copy(update={"context": ContextUse(tokens=100)})
        if number == 3 or request.conversation is None:
            return used(answer("done"), 200)
        full = ContextUse(tokens=5_000, window=100_000, turns=2)
        return used(calls(("search", {"query": "a"})), 900, 50).model_copy(update={"context": full})

    policy: Json = {"at": 1_000, "keep_turns": 1}
    of = plan({"kind": "tokens", "limit": 3_300}, compaction=policy, max_turns=1)
    _, world, state = await ran(of, model)
    assert [one.compaction is not None for one in world.requests] == [False, True, False]
    assert state.turn_tokens


FIRST = AgentRequest(team="work", task="act", conversation=Conversation())
LATER = AgentRequest(team="work", task="act", conversation=Conversation(head="one"))
HUNDRED = ToolTurn(results=(ToolResult(text="", size=400),))
COMPACTING = LATER.model_copy(update={"compaction": CompactionTurn(keep_turns=1, limit=9)})


@pytest.mark.parametrize(
    ("request_", "response", "known"),
    [
        (FIRST, used(AgentResponse(conversation="two"), 9, 4), {"one": 7, "two": 13}),
        (LATER, used(AgentResponse(conversation="two"), 9, 4), {"": 5, "two": 13}),
        (LATER, AgentResponse(conversation="two"), {"": 5}),
        (LATER, used(AgentResponse(conversation="two"), 0), {"": 5}),
        (LATER, used(AgentResponse(), 9, 4), {"": 5, "one": 7}),
        (
            LATER.model_copy(update={"conversation": None}),
            used(AgentResponse(conversation="two"), 9, 4),
            {"": 5, "one": 7},
        ),
        (COMPACTING, used(AgentResponse(conversation="two"), 9, 4), {"": 5}),
        (
            COMPACTING,
            used(AgentResponse(conversation="two", context=ContextUse(tokens=3)), 9, 4),
            {"": 5, "two": 3},
        ),
    ],
    ids=[
        "first turn",
        "later turn",
        "unknown usage",
        "nothing used",
        "not stored",
        "no conversation",
        "compacted to an unknown size",
        "compacted",
    ],
)
def test_the_tokens_of_a_conversation_replace_those_before_its_latest_turn(
    request_: AgentRequest, response: AgentResponse, known: dict[str, int]
) -> None:
    state = RunState(turn_tokens={"one": 7} if request_ is FIRST else {"": 5, "one": 7})
    remember_tokens(state, request_, response)
    assert state.turn_tokens == known


def test_the_tokens_of_the_latest_thousand_conversations_are_remembered() -> None:
    state = RunState(turn_tokens={str(number): 1 for number in range(999)})
    remember_tokens(state, FIRST, used(AgentResponse(conversation="a"), 1))
    assert len(state.turn_tokens) == 1_000
    remember_tokens(state, FIRST, used(AgentResponse(conversation="b"), 1))
    assert list(state.turn_tokens) == [*map(str, range(1, 999)), "a", "b"]


@pytest.mark.parametrize(
    ("budget", "spent", "refused"),
    [
        (Budget(kind="tokens", limit=1_000), 900, False),
        (Budget(kind="tokens", limit=999), 900, True),
        (Budget(kind="money", limit=0.3), 0.1, False),
        (Budget(kind="money", limit=0.3), 0.100001, True),
        (Budget(kind="working_time", limit=1), 1, False),
    ],
    ids=["tokens, exactly", "tokens, one less", "money, exactly", "money, a bit less", "time"],
)
async def test_an_input_of_a_hundred_tokens_takes_exactly_what_is_left(
    budget: Budget, spent: float, refused: bool
) -> None:
    """At 2,000 dollars for a million they cost 0.2, and 0.3 - 0.1 is less than that in binary."""
    prices = {"p/m": Price(input=2_000, output=1, cached=1)}
    of = plan().model_copy(update={"prices": prices, "budgets": (budget,)})
    state = RunState(balances={budget.id: BudgetBalance(used=spent)})
    asked = FIRST.model_copy(update={"notices": ("a warning",), "tool_turn": HUNDRED})
    assert await _is_refused(of, state, asked) is refused


async def _is_refused(of: Plan, state: RunState, asked: AgentRequest) -> bool:
    scope = ModelScope(of, state, ModelWorld(two_turns, lambda _: ""), None)
    try:
        await admit_input(scope, Location.of_visit(MAIN, "work", 1).at("act"), (), "p/m", asked)
    except BudgetExceeded:
        return True
    return False


@pytest.mark.parametrize(
    ("conversation", "refused"),
    [
        (Conversation(head="one"), True),
        (Conversation(head="one", turns=1), False),
        (Conversation(head="one", characters=10), False),
        (Conversation(), False),
        (None, False),
    ],
    ids=["all turns", "some turns", "some characters", "a new one", "none"],
)
async def test_the_earlier_turns_count_where_all_of_them_are_sent(
    conversation: Conversation | None, refused: bool
) -> None:
    state = RunState(turn_tokens={"one": 1})
    asked = FIRST.model_copy(update={"conversation": conversation, "tool_turn": HUNDRED})
    assert await _is_refused(plan({"kind": "tokens", "limit": 100}), state, asked) is refused


@pytest.mark.parametrize(("visit", "refused"), [(1, False), (2, True)])
async def test_the_visit_that_a_budget_led_to_may_exceed_it(visit: int, refused: bool) -> None:
    of = plan({"kind": "tokens", "limit": 99})
    state = RunState(balances={"run.tokens": BudgetBalance(visit=visit)})
    budget = of.budgets[0].model_copy(update={"next_team": "work"})
    asked = FIRST.model_copy(update={"tool_turn": HUNDRED})
    assert await _is_refused(of.model_copy(update={"budgets": (budget,)}), state, asked) is refused
