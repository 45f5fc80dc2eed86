"""Budgets: whether a call may begin, what it was paid from, and what comes when one is used up.

A call in progress is never cut: what has to leave its place waits until all calls have ended.
Calls are counted when they begin, so a budget of N calls is N calls; tokens, money and time are
known when a call ends.
"""

from collections.abc import Coroutine, Iterator
from dataclasses import replace
from typing import Literal, TypeVar

from activities.contracts import AgentResponse, SkillResult, Spent
from dsl.errors import BudgetExceeded
from dsl.evaluate.because import route_because
from dsl.model.budgets import Budget
from dsl.model.causes import BudgetReached, RouteCause
from dsl.model.terms import ApprovalTerms, AskTerms
from dsl.values import Json
from workflows.approvals.approval_wait import ask
from workflows.core.location import Location, Redirected, RunLeft
from workflows.core.memory import BudgetBalance
from workflows.core.requests import Decision
from workflows.core.scope import Leaving, Scope, on_abort
from workflows.core.state import RunState
from workflows.core.trail import note_budget

Paid = Literal["model_calls", "tool_calls"]
Personas = tuple[str, ...]
T = TypeVar("T")

_DIGITS = 9
"""Of dollars and seconds: eight calls of 0.1 are 0.8, and nothing less."""

_PAYS: dict[Paid, tuple[str, ...]] = {
    "model_calls": ("tokens", "money", "model_calls", "working_time"),
    "tool_calls": ("tool_calls", "working_time"),
}
"""The kinds of budgets that a call is paid from."""


async def allowed(
    scope: Scope, place: Location, personas: Personas, kind: Paid, *, boundary: bool = True
) -> tuple[str, ...]:
    """Stands before each call of a plan with budgets, and counts it.

    Args:
        scope: the run.
        place: of the call.
        personas: whose plans, and whose turn, it belongs to; outermost first.
        kind: of call.
        boundary: whether the run may continue as new here, should a person be asked.

    Returns:
        What its agent should know: the budgets that are nearly used up.

    Raises:
        BudgetExceeded: a budget is used up, and the run stops.
        Redirected: the team is left for another.
        RunLeft: so is everything that the run is in the middle of.
    """
    state = scope.state
    paying = [budget for budget in _covering(scope, place, personas) if budget.kind in _PAYS[kind]]
    while True:
        if scope.leaving is not None:
            await _until_abandoned(scope, scope.leaving)
            continue
        empty = next((one for one in paying if _used_up(one, _pot(state, one), place)), None)
        if empty is None:
            break
        await _decide(scope, place, empty, _pot(state, empty), boundary=boundary)
    for budget in paying:
        if budget.kind == kind:
            _add(scope, place, budget, 1)
    return tuple(_notices(state, paying))


async def _until_abandoned(scope: Scope, leaving: Leaving) -> None:
    """Stand still: who leaves stops this way too, unless they are stopped themselves."""
    await scope.wait_until(lambda: leaving.abandoned, None, leaving.because, boundary=False)


async def in_flight(scope: Scope, call: Coroutine[None, None, T]) -> T:
    """Await a call that is in progress meanwhile."""
    scope.in_flight += 1
    try:
        return await call
    finally:
        scope.in_flight -= 1


def paid(
    scope: Scope,
    place: Location,
    personas: Personas,
    what: AgentResponse | SkillResult | Spent,
    model: str = "",
) -> None:
    """Take what a call used from the budgets that cover it."""
    usage, cost, unpriced = None, None, False
    if not isinstance(what, SkillResult):
        usage, cost = what.usage, what.cost
        unpriced = what.unpriced or (usage is not None and cost is None)
    tokens = usage.input_tokens + usage.output_tokens if usage is not None else 0
    amounts = {"tokens": tokens, "money": cost, "working_time": what.seconds}
    for budget in _covering(scope, place, personas):
        if amounts.get(budget.kind):
            _add(scope, place, budget, amounts[budget.kind] or 0)
        if unpriced and budget.kind == "money":
            pot = _pot(scope.state, budget)
            if not pot.unpriced:
                pot.unpriced = model or "a model"
                note_budget(scope, place, "unpriced", _not_held(budget, pot))


def limit_of(budget: Budget, pot: BudgetBalance | None) -> float:
    """What it allows by now: people may have extended it."""
    return round(budget.limit + pot.extended, _DIGITS) if pot is not None else budget.limit


def _covering(scope: Scope, place: Location, personas: Personas) -> Iterator[Budget]:
    for budget in scope.plan.budgets:
        if budget.covers(place.team, personas):
            yield budget


def _pot(state: RunState, budget: Budget) -> BudgetBalance:
    pot = state.pots.get(budget.id)
    if pot is None:
        pot = state.pots[budget.id] = BudgetBalance()
    return pot


def _used_up(budget: Budget, pot: BudgetBalance, place: Location) -> bool:
    """Whether nothing more is paid from it; the team that it leads to works all the same."""
    unheld = pot.unpriced and not pot.unpriced_allowed
    if pot.used < limit_of(budget, pot) and not unheld:
        return False
    if pot.visit is None:
        return True
    if (place.team, place.visit) == (budget.next_team, pot.visit):
        return False
    return not place.track.led_through(f"{budget.next_team}#{pot.visit}")


def _add(scope: Scope, place: Location, budget: Budget, value: float) -> None:
    pot = _pot(scope.state, budget)
    pot.used = round(pot.used + value, _DIGITS)
    if not pot.warned and pot.used >= budget.warn_at * limit_of(budget, pot):
        pot.warned = True
        note_budget(scope, place, "warned", _so_far(budget, pot))


def _notices(state: RunState, paying: list[Budget]) -> Iterator[str]:
    for budget in paying:
        pot = _pot(state, budget)
        if pot.warned:
            told = route_because(_so_far(budget, pot))
            yield f"[Note: {told}. Come to an end with what is left.]"


def _so_far(budget: Budget, pot: BudgetBalance) -> BudgetReached:
    limit = limit_of(budget, pot)
    return BudgetReached("budget_warned", budget.kind, budget.owner, pot.used, limit)


def _not_held(budget: Budget, pot: BudgetBalance) -> BudgetReached:
    return BudgetReached("budget_not_held", budget.kind, budget.owner, model=pot.unpriced)


def _exceeded(budget: Budget, pot: BudgetBalance) -> BudgetReached:
    if pot.unpriced and not pot.unpriced_allowed:
        return _not_held(budget, pot)
    limit = limit_of(budget, pot)
    return BudgetReached("budget_used_up", budget.kind, budget.owner, pot.used, limit)


async def _decide(
    scope: Scope, place: Location, budget: Budget, pot: BudgetBalance, *, boundary: bool
) -> None:
    cause = _exceeded(budget, pot)
    match budget.on_exceeded:
        case "ask":
            await _ask(scope, place, budget, pot, cause, boundary=boundary)
        case "route" if (team := _leads_to(scope.state, budget, pot)) is not None:
            await _leave(scope, cause)
            if pot.visit is None:
                pot.visit = scope.state.visits.get(team, 0) + 1
                note_budget(scope, place, "routed", cause, team)
            _go(budget, team, cause)
        case _:
            await _stop(scope, budget, pot, cause)


def _leads_to(state: RunState, budget: Budget, pot: BudgetBalance) -> str | None:
    """Where the budget leads: once, so until that visit has begun, and in no cancelled run.

    Whoever is on the way there may still ask it in a `finally`.
    """
    team = budget.next_team
    if team is None or state.stop_by is not None:
        return None
    begun = pot.visit is not None and state.visits.get(team, 0) >= pot.visit
    return None if begun else team


async def _stop(scope: Scope, budget: Budget, pot: BudgetBalance, cause: BudgetReached) -> None:
    await _leave(scope, cause)
    raise BudgetExceeded(
        f"Budget exceeded: {route_because(cause)}",
        limit=f"budget_{budget.kind}",
        allowed=limit_of(budget, pot),
    )


def _go(budget: Budget, team: str | None, cause: BudgetReached) -> None:
    """Leave what the budget is of: its team, or everything."""
    if budget.scope == "team" and team is not None:
        raise Redirected(team, cause)
    raise RunLeft(team, cause)


async def _leave(scope: Scope, cause: RouteCause) -> None:
    """Wait until every call has ended; none begins meanwhile."""
    because = route_because(cause)
    leaving = scope.leaving = Leaving(because)
    try:
        if scope.in_flight:
            await scope.wait_until(lambda: scope.in_flight == 0, None, because, boundary=False)
    except BaseException:
        leaving.abandoned = True
        raise
    finally:
        scope.leaving = None


async def _ask(
    scope: Scope,
    place: Location,
    budget: Budget,
    pot: BudgetBalance,
    cause: BudgetReached,
    *,
    boundary: bool,
) -> None:
    """Let a person extend it; of several ways that find it used up, one asks."""
    here = place.key
    if pot.asking not in (None, here):
        await scope.wait_until(lambda: pot.asking is None, None, f"decision about {budget.told}")
        return
    pot.asking = here
    at = place._replace(path=f"budget/{budget.id}")
    asked = budget.terms or AskTerms()
    terms = ApprovalTerms.model_validate(
        {**asked.model_dump(exclude={"prompt"}), "editable": True, "schema": _EXTENSION}
    )
    because = route_because(cause)
    prompt = asked.prompt or (
        f"{because[0].upper()}{because[1:]}. Approve to extend it by `extend_by` (0: end the run "
        "with what there is), reject to stop the run"
    )

    def stop_asking() -> None:
        pot.asking = None

    async with on_abort(stop_asking):
        decision = await ask(
            scope, at, prompt, show={EXTEND_BY: budget.limit}, terms=terms, boundary=boundary
        )
    stop_asking()
    await _decided(scope, place, budget, pot, decision, cause)


async def _decided(
    scope: Scope,
    place: Location,
    budget: Budget,
    pot: BudgetBalance,
    decision: Decision | None,
    cause: BudgetReached,
) -> None:
    if decision is None or (decision.verdict == "rejected" and decision.how == "deadline"):
        await _stop(scope, budget, pot, replace(cause, code="budget_not_decided"))
    elif decision.verdict == "rejected":
        refused = replace(cause, code="budget_refused", by=decision.by)
        await _stop(scope, budget, pot, refused)
    elif (more := extended_by(decision)) > 0:
        pot.extended += more
        pot.unpriced_allowed = bool(pot.unpriced)
        pot.warned = pot.used >= budget.warn_at * limit_of(budget, pot)
        extended = BudgetReached(
            "budget_extended", budget.kind, budget.owner, extended=more, by=decision.by
        )
        note_budget(scope, place, "extended", extended)
    else:
        ended = replace(cause, code="budget_ended", by=decision.by)
        if scope.state.stop_by is not None:
            await _stop(scope, budget, pot, ended)
        await _leave(scope, ended)
        _go(budget, None, ended)


EXTEND_BY = "extend_by"
"""What the question shows: by how much an approval extends the budget."""

_EXTENSION: Json = {
    "type": "object",
    "properties": {EXTEND_BY: {"type": "number", "minimum": 0}},
    "required": [EXTEND_BY],
    "additionalProperties": False,
}


def extended_by(decision: Decision) -> float:
    """How much a person adds to a budget."""
    shown = decision.payload
    more = shown.get(EXTEND_BY) if isinstance(shown, dict) else None
    return float(more) if isinstance(more, int | float) else 0.0
