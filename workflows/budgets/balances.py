"""Budget balances: which budgets a call is paid from, and what is left of them. Pure.

A call counts when it starts, so a budget of N calls allows N calls; tokens, money and time count
when it ends.
"""

from collections.abc import Iterator

from coterie.activities.contracts import AgentResponse, FunctionResult, Spent
from coterie.dsl.evaluate.because import route_because
from coterie.dsl.model.budgets import Budget
from coterie.dsl.model.causes import BudgetReached
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import BudgetBalance
from coterie.workflows.core.trail import note_budget

Personas = tuple[str, ...]

DIGITS = 9
"""Rounding of dollars and seconds, so that eight calls of 0.1 make exactly 0.8."""


def limit_of(budget: Budget, balance: BudgetBalance | None) -> float:
    """Return the limit with all extensions that people granted."""
    return round(budget.limit + balance.extended, DIGITS) if balance is not None else budget.limit


def covering(scope: Scope, location: Location, personas: Personas) -> Iterator[Budget]:
    """Yield the budgets that a call counts against."""
    for budget in scope.plan.budgets:
        if budget.covers(location.team, personas):
            yield budget


def balance_of(state: RunState, budget: Budget) -> BudgetBalance:
    """Return the balance of a budget, empty before its first call."""
    balance = state.balances.get(budget.id)
    if balance is None:
        balance = state.balances[budget.id] = BudgetBalance()
    return balance


def is_used_up(budget: Budget, balance: BudgetBalance, location: Location) -> bool:
    """Return whether the budget is exhausted; calls of its `route` team are exempt."""
    unheld = balance.unpriced and not balance.unpriced_allowed
    if balance.used < limit_of(budget, balance) and not unheld:
        return False
    return not is_exempt(budget, balance, location)


def is_exempt(budget: Budget, balance: BudgetBalance, location: Location) -> bool:
    """Return whether a location belongs to the visit that the used-up budget routed to."""
    if balance.visit is None:
        return False
    if (location.team, location.visit) == (budget.next_team, balance.visit):
        return True
    return location.track.led_through(f"{budget.next_team}#{balance.visit}")


def add(scope: Scope, location: Location, budget: Budget, value: float) -> None:
    """Count what a call used, and warn when the budget is nearly used up."""
    balance = balance_of(scope.state, budget)
    balance.used = round(balance.used + value, DIGITS)
    if not balance.warned and balance.used >= budget.warn_at * limit_of(budget, balance):
        balance.warned = True
        note_budget(scope, location, "warned", so_far(budget, balance))


def paid(
    scope: Scope,
    location: Location,
    personas: Personas,
    what: AgentResponse | FunctionResult | Spent,
    model: str = "",
) -> None:
    """Take what a call used from the budgets that cover it."""
    usage, cost, unpriced, estimated = None, None, False, False
    if not isinstance(what, FunctionResult):
        usage, cost, estimated = what.usage, what.cost, bool(what.estimated)
        unpriced = what.unpriced or (usage is not None and cost is None)
    tokens = usage.input_tokens + usage.output_tokens if usage is not None else 0
    amounts = {"tokens": tokens, "money": cost, "working_time": what.seconds}
    for budget in covering(scope, location, personas):
        if amount := amounts.get(budget.kind):
            if estimated and budget.kind != "working_time":
                balance_of(scope.state, budget).estimated = True
            add(scope, location, budget, amount)
        if unpriced and budget.kind == "money":
            balance = balance_of(scope.state, budget)
            if not balance.unpriced:
                balance.unpriced = model or "a model"
                note_budget(scope, location, "unpriced", not_held(budget, balance))


def notices(state: RunState, paying: list[Budget]) -> Iterator[str]:
    """Return what an agent should know: the budgets that are nearly used up."""
    for budget in paying:
        balance = balance_of(state, budget)
        if balance.warned:
            because = route_because(so_far(budget, balance))
            yield f"[Note: {because}. Come to an end with what is left.]"


def so_far(budget: Budget, balance: BudgetBalance) -> BudgetReached:
    """Return the cause: a budget is nearly used up."""
    limit = limit_of(budget, balance)
    return BudgetReached(
        "budget_warned",
        budget.kind,
        budget.owner,
        balance.used,
        limit,
        estimated=balance.estimated,
    )


def not_held(budget: Budget, balance: BudgetBalance) -> BudgetReached:
    """Return the cause: a model has no price, so a budget of money cannot be checked."""
    return BudgetReached("budget_not_held", budget.kind, budget.owner, model=balance.unpriced)


def exceeded(budget: Budget, balance: BudgetBalance) -> BudgetReached:
    """Return the cause: a budget is used up, or cannot be checked."""
    if balance.unpriced and not balance.unpriced_allowed:
        return not_held(budget, balance)
    limit = limit_of(budget, balance)
    return BudgetReached(
        "budget_used_up",
        budget.kind,
        budget.owner,
        balance.used,
        limit,
        estimated=balance.estimated,
    )
