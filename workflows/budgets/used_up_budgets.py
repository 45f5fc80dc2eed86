"""Used-up budgets: the run asks a person, redirects to another team, or stops."""

from dataclasses import replace

from coterie.dsl.errors import BudgetExceeded
from coterie.dsl.evaluate.because import route_because
from coterie.dsl.model.budgets import Budget
from coterie.dsl.model.causes import BudgetReached, RouteCause
from coterie.dsl.model.terms import ApprovalTerms, AskTerms
from coterie.dsl.values import Json
from coterie.workflows.approvals.approval_wait import PersonRequest, ask
from coterie.workflows.budgets.balances import exceeded, limit_of
from coterie.workflows.core.location import Location, Redirected, RunLeft
from coterie.workflows.core.memory import BudgetBalance
from coterie.workflows.core.requests import Decision
from coterie.workflows.core.scope import Leaving, Scope, on_abort
from coterie.workflows.core.state import RunState
from coterie.workflows.core.trail import note_budget

EXTEND_BY = "extend_by"
"""Key of the value that a person approves: by how much to extend the budget."""

_EXTENSION: Json = {
    "type": "object",
    "properties": {EXTEND_BY: {"type": "number", "minimum": 0}},
    "required": [EXTEND_BY],
    "additionalProperties": False,
}


async def decide(
    scope: Scope,
    location: Location,
    budget: Budget,
    balance: BudgetBalance,
    *,
    needed: float = 0.0,
    boundary: bool,
) -> None:
    """Apply the budget's `on_exceeded`.

    Args:
        scope: the run.
        location: the location of the call.
        budget: the budget that is used up, or has too little left.
        balance: what is left of the budget.
        needed: what the call needs for certain, where something is left.
        boundary: whether the run may continue as new here while it asks a person.

    Raises:
        BudgetExceeded: the run stops.
        Redirected: the run leaves the team for another.
        RunLeft: the run leaves everything in progress.
    """
    cause = replace(exceeded(budget, balance), needed=needed)
    match budget.on_exceeded:
        case "ask":
            await _ask(scope, location, budget, balance, cause, boundary=boundary)
        case "route" if (team := _leads_to(scope.state, budget, balance)) is not None:
            await _leave(scope, cause)
            if balance.visit is None:
                balance.visit = scope.state.visits.get(team, 0) + 1
                note_budget(scope, location, "routed", cause, team)
            _go(budget, team, cause)
        case _:
            await _stop(scope, budget, balance, cause)


def _leads_to(state: RunState, budget: Budget, balance: BudgetBalance) -> str | None:
    """Return the team that the budget routes to, or None once its visit has started.

    None as well in a cancelled run. A `finally` step may ask before the run gets there.
    """
    team = budget.next_team
    if team is None or state.stop_by is not None:
        return None
    begun = balance.visit is not None and state.visits.get(team, 0) >= balance.visit
    return None if begun else team


async def _stop(scope: Scope, budget: Budget, balance: BudgetBalance, cause: BudgetReached) -> None:
    await _leave(scope, cause)
    raise BudgetExceeded(
        f"Budget exceeded: {route_because(cause)}",
        limit=f"budget_{budget.kind}",
        allowed=limit_of(budget, balance),
    )


def _go(budget: Budget, team: str | None, cause: BudgetReached) -> None:
    """Leave the team that the budget covers, or everything in progress."""
    if budget.scope == "team" and team is not None:
        raise Redirected(team, cause)
    raise RunLeft(team, cause)


async def _leave(scope: Scope, cause: RouteCause) -> None:
    """Wait until every call has ended; no other starts meanwhile."""
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
    location: Location,
    budget: Budget,
    balance: BudgetBalance,
    cause: BudgetReached,
    *,
    boundary: bool,
) -> None:
    """Let a person extend the budget; of several concurrent calls, one asks."""
    here = location.key
    if balance.asking not in (None, here):
        await scope.wait_until(
            lambda: balance.asking is None,
            None,
            f"decision about {budget.description}",
            boundary=boundary,
        )
        return
    balance.asking = here
    at = location.beside(f"budget/{budget.id}")
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
        balance.asking = None

    request = PersonRequest(prompt, {EXTEND_BY: budget.limit}, terms)
    async with on_abort(stop_asking):
        decision = await ask(scope, at, request, boundary=boundary)
    stop_asking()
    await _apply_decision(scope, location, budget, balance, decision, cause)


async def _apply_decision(
    scope: Scope,
    location: Location,
    budget: Budget,
    balance: BudgetBalance,
    decision: Decision | None,
    cause: BudgetReached,
) -> None:
    if decision is None or (decision.verdict == "rejected" and decision.how == "deadline"):
        await _stop(scope, budget, balance, replace(cause, code="budget_not_decided"))
    elif decision.verdict == "rejected":
        refused = replace(cause, code="budget_refused", by=decision.by)
        await _stop(scope, budget, balance, refused)
    elif (more := extended_by(decision)) > 0:
        balance.extended += more
        balance.unpriced_allowed = bool(balance.unpriced)
        balance.warned = balance.used >= budget.warn_at * limit_of(budget, balance)
        extended = BudgetReached(
            "budget_extended", budget.kind, budget.owner, extended=more, by=decision.by
        )
        note_budget(scope, location, "extended", extended)
    else:
        ended = replace(cause, code="budget_ended", by=decision.by)
        if scope.state.stop_by is not None:
            await _stop(scope, budget, balance, ended)
        await _leave(scope, ended)
        _go(budget, None, ended)


def extended_by(decision: Decision) -> float:
    """Return how much a person adds to a budget."""
    shown = decision.payload
    more = shown.get(EXTEND_BY) if isinstance(shown, dict) else None
    return float(more) if isinstance(more, int | float) else 0.0
