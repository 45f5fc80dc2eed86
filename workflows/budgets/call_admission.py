"""Call admission: whether a call may start, by the budgets that pay for it.

A running call is never cut: a step that leaves the run first waits until all calls have ended.
"""

from collections.abc import Coroutine, Sequence
from typing import Literal, TypeVar

from coterie.dsl.model.budgets import Budget
from coterie.workflows.budgets.balances import (
    Personas,
    add,
    balance_of,
    covering,
    is_used_up,
    notices,
)
from coterie.workflows.budgets.used_up_budgets import decide
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Leaving, Scope

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
