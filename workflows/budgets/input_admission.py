"""Input admission: whether what a model turn sends fits into what its budgets have left.

The answer is not in it: nobody knows how long it will be, so a call may exceed its budget by that.
"""

from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.dsl.model.budgets import Budget
from coterie.workflows.budgets.balances import (
    DIGITS,
    Personas,
    balance_of,
    covering,
    is_exempt,
    limit_of,
)
from coterie.workflows.budgets.call_estimates import estimated_news
from coterie.workflows.budgets.used_up_budgets import decide
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state import RunState

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
