"""Reservations: concurrent model turns must not exceed a budget of tokens or money together.

A turn reserves its estimate while it runs, and settles when it ends. One that does not fit beside
the others waits until one of them has settled; alone it begins, as the budget allows.
"""

from collections.abc import Callable
from dataclasses import dataclass

from coterie.dsl.model.budgets import Budget
from coterie.dsl.model.causes import BudgetReached
from coterie.workflows.budgets.balances import (
    DIGITS,
    Personas,
    balance_of,
    covering,
    is_exempt,
    limit_of,
)
from coterie.workflows.budgets.call_admission import hold_to_budgets
from coterie.workflows.budgets.call_estimates import CallEstimate
from coterie.workflows.core.location import Location, Skipped
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state_parts import BudgetBalance
from coterie.workflows.core.trail import note_budget

_USED_AT_THE_END = ("tokens", "money", "working_time")
"""The kinds of budgets that count what a call used when it ends."""


@dataclass(slots=True)
class _Share:
    """What one call takes of one budget."""

    budget: Budget
    balance: BudgetBalance
    amount: float

    @property
    def fits(self) -> bool:
        """Whether the call may run beside those in progress; without any, it may."""
        balance = self.balance
        if not balance.reservations:
            return True
        total = round(balance.used + balance.reserved + self.amount, DIGITS)
        return total <= limit_of(self.budget, balance)

    def take(self) -> None:
        self.balance.reservations += 1
        self.balance.reserved = round(self.balance.reserved + self.amount, DIGITS)

    def give_back(self) -> None:
        balance = self.balance
        balance.reservations -= 1
        rest = round(balance.reserved - self.amount, DIGITS)
        balance.reserved = rest if balance.reservations else 0.0


class reserving:  # lower case, since it reads `async with reserving(...):`
    """Reserve the estimated usage of a model turn; wait while it exceeds the budget.

    Entering raises what `admit_call` raises, where a budget is used up after the wait, and Skipped
    where a person skips the step meanwhile.
    """

    def __init__(
        self,
        scope: Scope,
        location: Location,
        personas: Personas,
        estimate: Callable[[], CallEstimate | None],
        *,
        begun: bool = False,
    ) -> None:
        """Take the turn.

        Args:
            scope: the run.
            location: of the turn.
            personas: whose plans and turn contain the call, outermost first.
            estimate: what the turn will use; None if it does not report its usage.
            begun: whether the turn is already in progress, so it never waits.
        """
        self._scope = scope
        self._location = location
        self._personas = personas
        self._estimate = estimate
        self._begun = begun
        self._shares: list[_Share] = []

    async def __aenter__(self) -> None:
        """Wait until the turn fits, and reserve."""
        scope, location = self._scope, self._location
        covered = tuple(covering(scope, location, self._personas))
        paying = [budget for budget in covered if budget.kind in ("tokens", "money")]
        estimate = self._estimate() if paying else None
        if estimate is None:
            return

        def may_go_on() -> bool:  # a paused run begins no call
            state = scope.state
            may_begin = state.paused is None and self._short(paying, estimate) is None
            return may_begin or location.step in state.skips

        while not self._begun and (short := self._short(paying, estimate)) is not None:
            cause = _cause(short)
            note_budget(scope, location, "waits", cause)
            summary = f"room in {short.budget.description}"
            # another call's end wakes it; a scope that does not wait lets the call begin
            if not await scope.wait_until(may_go_on, None, summary, boundary=False):
                break
            if location.step in scope.state.skips:
                raise Skipped(scope.state.skips.pop(location.step).value)
            used_later = [budget for budget in covered if budget.kind in _USED_AT_THE_END]
            await hold_to_budgets(scope, location, used_later, boundary=False)
        self._shares = [self._share(budget, estimate) for budget in paying]
        for share in self._shares:
            share.take()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        """Settle: the call has been paid, or costs nothing."""
        for share in self._shares:
            share.give_back()

    def _share(self, budget: Budget, estimate: CallEstimate) -> _Share:
        balance = balance_of(self._scope.state, budget)
        if budget.kind == "tokens":
            return _Share(budget, balance, estimate.tokens)
        cost = estimate.cost(self._scope.plan, self._scope.state)
        if cost is None:  # of a model without a price: nothing may run beside it
            cost = 0.0 if balance.unpriced_allowed else limit_of(budget, balance)
        return _Share(budget, balance, cost)

    def _short(self, paying: list[Budget], estimate: CallEstimate) -> _Share | None:
        """Return the first budget in which there is no room now."""
        for share in (self._share(budget, estimate) for budget in paying):
            if not share.fits and not is_exempt(share.budget, share.balance, self._location):
                return share
        return None


def _cause(share: _Share) -> BudgetReached:
    """Return why the call waits."""
    budget, balance = share.budget, share.balance
    return BudgetReached(
        "budget_reserved",
        budget.kind,
        budget.owner,
        balance.used,
        limit_of(budget, balance),
        reserved=balance.reserved,
        needed=share.amount,
        estimated=balance.estimated,
    )
