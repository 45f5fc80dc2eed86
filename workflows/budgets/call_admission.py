"""Call admission: whether a call may start, by the budgets that pay for it.

A running call is never cut: a step that leaves the run first waits until all calls have ended. A
model turn must fit with what it sends. Nobody knows how long its answer will be, so a call may
exceed its budget by that.
"""

from collections.abc import Coroutine, Sequence
from typing import Literal, TypeVar

from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.dsl.model.budgets import Budget
from coterie.workflows.budgets.balances import (
    DIGITS,
    Personas,
    add,
    balance_of,
    covering,
    is_exempt,
    is_used_up,
    limit_of,
    notices,
)
from coterie.workflows.budgets.call_estimates import estimated_news
from coterie.workflows.budgets.used_up_budgets import decide
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Leaving, Scope
from coterie.workflows.core.state import RunState

Paid = Literal["model_calls", "tool_calls"]
T = TypeVar("T")

_PAYS: dict[Paid, tuple[str, ...]] = {
    "model_calls": ("tokens", "money", "model_calls", "working_time"),
    "tool_calls": ("tool_calls", "working_time"),
}
"""The kinds of budgets that a call is paid from."""


async def admit_call(
    scope: Scope, location: Location, personas: Personas, kind: Paid, *, boundary: bool = True
) -> tuple[str, ...]:
    """Admit a call of a plan with budgets, and count it.

    Args:
        scope: the run.
        location: of the call.
        personas: the personas whose plans and turn contain the call, outermost first.
        kind: of call.
        boundary: whether the run may continue as new here while it asks a person.

    Returns:
        What the agent should know: the budgets that are nearly used up.

    Raises:
        BudgetExceeded: a budget is used up, and the run stops.
        Redirected: the run leaves the team for another.
        RunLeft: the run leaves everything in progress.
    """
    state = scope.state
    paying = [
        budget for budget in covering(scope, location, personas) if budget.kind in _PAYS[kind]
    ]
    await hold_to_budgets(scope, location, paying, boundary=boundary)
    for budget in paying:
        if budget.kind == kind:
            add(scope, location, budget, 1)
    return tuple(notices(state, paying))


async def hold_to_budgets(
    scope: Scope, location: Location, paying: Sequence[Budget], *, boundary: bool
) -> None:
    """Wait until no budget is used up; each applies its `on_exceeded`.

    Raises what `admit_call` raises.
    """
    state = scope.state
    while True:
        if scope.leaving is not None:
            await _until_abandoned(scope, scope.leaving)
            continue
        empty = next(
            (one for one in paying if is_used_up(one, balance_of(state, one), location)), None
        )
        if empty is None:
            return
        await decide(scope, location, empty, balance_of(state, empty), boundary=boundary)


async def _until_abandoned(scope: Scope, leaving: Leaving) -> None:
    """Wait until the step that leaves the run stops this branch, or is itself stopped."""
    await scope.wait_until(lambda: leaving.abandoned, None, leaving.because, boundary=False)


async def in_flight(scope: Scope, call: Coroutine[None, None, T]) -> T:
    """Await a call, and count it as in progress meanwhile."""
    scope.in_flight += 1
    try:
        return await call
    finally:
        scope.in_flight -= 1


_MAX_REMEMBERED = 1_000
"""Latest turns whose tokens a run remembers: one for each conversation in use is enough."""


def remember_tokens(state: RunState, request: AgentRequest, response: AgentResponse) -> None:
    """Record the tokens of the conversation after a turn: the next turn sends all of them."""
    head, usage, asked = response.conversation, response.usage, request.conversation
    if head is None or asked is None:
        return
    known = state.turn_tokens
    known.pop(asked.head or "", None)
    if request.compaction is not None:
        tokens = 0 if response.context is None else response.context.tokens
    else:
        tokens = 0 if usage is None else usage.input_tokens + usage.output_tokens
    if tokens:
        known[head] = tokens
    if len(known) > _MAX_REMEMBERED:
        del known[next(iter(known))]


async def admit_input(
    scope: Scope, location: Location, personas: Personas, model: str, request: AgentRequest
) -> None:
    """Apply `on_exceeded` of a budget that the input of a turn would exceed.

    Args:
        scope: the run.
        location: of the turn.
        personas: whose plans and turn contain the call, outermost first.
        model: `provider/model`.
        request: of the turn.

    Raises:
        BudgetExceeded: the run stops.
        Redirected: the run leaves the team for another.
        RunLeft: the run leaves everything in progress.
    """
    # a warning that a budget is nearly used up must not be what it cannot pay for
    unwarned = request.model_copy(update={"notices": ()}) if request.notices else request
    earlier, news = _earlier(scope.state, request), estimated_news(unwarned)
    for budget in covering(scope, location, personas):
        needed = _needed_amount(scope, budget, model, earlier, news)
        while needed and needed > _remaining_balance(scope, budget):
            balance = balance_of(scope.state, budget)
            if is_exempt(budget, balance, location):
                break
            await decide(scope, location, budget, balance, needed=needed, boundary=False)


def _earlier(state: RunState, request: AgentRequest) -> int:
    """Return the tokens of the earlier turns, as the provider counted them; 0 if unknown."""
    asked = request.conversation
    if asked is None or asked.turns is not None or asked.characters is not None:
        return 0
    return state.turn_tokens.get(asked.head or "", 0)


def _needed_amount(
    scope: Scope, budget: Budget, model: str, earlier: int, news: int
) -> float | None:
    """Return what the input takes of a budget; None if nobody can tell."""
    match budget.kind:
        case "tokens":
            return earlier + news
        case "money":
            price = scope.plan.prices.get(model)
            if price is None:
                return None
            return round(price.of(earlier + news, 0, cached_tokens=earlier), DIGITS)
        case _:
            return None


def _remaining_balance(scope: Scope, budget: Budget) -> float:
    balance = balance_of(scope.state, budget)
    return round(limit_of(budget, balance) - balance.used, DIGITS)
