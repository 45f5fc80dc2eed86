"""Call admission: whether a call may start, by the budgets that pay for it.

A running call is never cut: a step that leaves the run first waits until all calls have ended. A
model turn must fit with what it sends. Nobody knows how long its answer will be, so a call may
exceed its budget by that. If a budget is used up, the run asks a person, redirects to another team,
or stops.
"""

from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import Literal, TypeVar

from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.dsl.errors import BudgetExceeded
from coterie.dsl.evaluate.because import route_because
from coterie.dsl.model.budgets import Budget
from coterie.dsl.model.causes import BudgetReached, RouteCause
from coterie.dsl.model.decision_terms import ApprovalTerms, AskTerms
from coterie.dsl.values import Json
from coterie.workflows.approvals.approval_wait import PersonRequest, ask
from coterie.workflows.budgets.balances import (
    DIGITS,
    Personas,
    add,
    balance_of,
    covering,
    exceeded,
    is_exempt,
    is_used_up,
    limit_of,
    notices,
)
from coterie.workflows.budgets.call_estimates import estimated_news
from coterie.workflows.core.location import Location, Redirected, RunLeft
from coterie.workflows.core.requests import Decision
from coterie.workflows.core.scope import Leaving, Scope, on_abort
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import BudgetBalance
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
    ask_terms = budget.terms or AskTerms()
    terms = ApprovalTerms.model_validate(
        {**ask_terms.model_dump(exclude={"prompt"}), "editable": True, "schema": _EXTENSION}
    )
    because = route_because(cause)
    prompt = ask_terms.prompt or (
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
    payload = decision.payload
    more = payload.get(EXTEND_BY) if isinstance(payload, dict) else None
    return float(more) if isinstance(more, int | float) else 0.0


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
            (
                budget
                for budget in paying
                if is_used_up(budget, balance_of(state, budget), location)
            ),
            None,
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
    head, usage, conversation = response.conversation, response.usage, request.conversation
    if head is None or conversation is None:
        return
    turn_tokens = state.turn_tokens
    turn_tokens.pop(conversation.head or "", None)
    if request.compaction is not None:
        tokens = 0 if response.context is None else response.context.tokens
    else:
        tokens = 0 if usage is None else usage.input_tokens + usage.output_tokens
    if tokens:
        turn_tokens[head] = tokens
    if len(turn_tokens) > _MAX_REMEMBERED:
        del turn_tokens[next(iter(turn_tokens))]


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
    conversation = request.conversation
    if (
        conversation is None
        or conversation.turns is not None
        or conversation.characters is not None
    ):
        return 0
    return state.turn_tokens.get(conversation.head or "", 0)


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
