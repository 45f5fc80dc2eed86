"""Budgets: how much a run, a team, a persona or a task may use, and what happens then.

As a document writes them (`Budgets`), and as a plan has them (`Budget`, one for each amount).
"""

from collections.abc import Iterator
from math import floor, log10
from typing import Literal

from pydantic import Field

from coterie.dsl.model.decision_terms import AskTerms, OnExceeded, limit_reaction
from coterie.dsl.model.plan_key import PlanKey
from coterie.dsl.values import Frozen, Timeout

BudgetKind = Literal["tokens", "money", "model_calls", "tool_calls", "working_time"]
Scope = Literal["run", "team", "persona", "task"]


class BudgetTerms(Frozen):
    """What happens as a budget is used."""

    warn_at: float = Field(default=0.8, gt=0, le=1)
    """The share at which Coterie warns people, and the agents that use it."""
    on_exceeded: OnExceeded = "stop"
    """When it is used up: `stop` ends the run, `route` continues with another team, `ask` lets a
    person extend it, `{ask: terms}` says who and how. What is in progress ends; nothing that it
    would pay for begins."""
    next_team: str | None = None
    """With `route`: the next team, which may exceed the budget once."""


class CountBudget(BudgetTerms):
    """A number of tokens or calls, or the limit with what happens then."""

    limit: int = Field(ge=1)


class MoneyBudget(BudgetTerms):
    """An amount of US dollars, or the limit with what happens then."""

    limit: float = Field(gt=0, allow_inf_nan=False)


class TimeBudget(BudgetTerms):
    """A duration, or the limit with what happens then."""

    limit: Timeout


AnyBudget = CountBudget | MoneyBudget | TimeBudget


class Budgets(Frozen):
    """What the calls of a run, a team, a persona or a task may use together."""

    tokens: CountBudget | None = None
    """Input and output tokens of all models."""
    money: MoneyBudget | None = None
    """US dollars, for models that have a price."""
    model_calls: CountBudget | None = None
    """Model turns, re-asks too; a provider's own retries are one call."""
    tool_calls: CountBudget | None = None
    """Calls of tool functions, under any name."""
    working_time: TimeBudget | None = None
    """The total time of all calls; waits for people, signals and retries do not count."""


class Budget(Frozen):
    """One amount of a plan."""

    kind: BudgetKind
    limit: float
    """Tokens, US dollars, calls or seconds."""
    scope: Scope = "run"
    name: str = ""
    """The team or persona; for a task, the persona's key in the plan."""
    warn_at: float = 0.8
    on_exceeded: Literal["stop", "route", "ask"] = "stop"
    terms: AskTerms | None = None
    """With `ask`: who is asked, and how."""
    next_team: str | None = None

    @property
    def owner(self) -> str:
        """The owner: `run`, `team.review`, `persona.coder`, `task.draft.write`."""
        if self.scope == "run":
            return "run"
        return f"{self.scope}.{PlanKey(self.name).task or self.name}"

    @property
    def id(self) -> str:
        """The name in a run: `team.review.tokens`."""
        return f"{self.owner}.{self.kind}"

    @property
    def description(self) -> str:
        """The name for people: `the token budget of the team review`."""
        return budget_name(self.owner, self.kind)

    def amount(self, value: float) -> str:
        """Return an amount of it with its unit."""
        return amount(self.kind, value)

    def covers(self, team: str, personas: tuple[str, ...]) -> bool:
        """Return whether a call of a team's agent, of these personas, is paid from it."""
        match self.scope:
            case "run":
                return True
            case "team":
                return self.name == team
            case "persona":
                return any(PlanKey(key).persona == self.name for key in personas)
            case "task":
                return self.name in personas


_CALLED: dict[BudgetKind, str] = {
    "tokens": "token",
    "money": "money",
    "model_calls": "model call",
    "tool_calls": "tool call",
    "working_time": "working time",
}


def budget_name(owner: str, kind: BudgetKind) -> str:
    """Name a budget to people: `the token budget of the team review`."""
    scope, _, name = owner.partition(".")
    whose = "the run" if not name else f"the {scope} {name}"
    return f"the {_CALLED[kind]} budget of {whose}"


def share(kind: BudgetKind, used: float, limit: float, *, estimated: bool = False) -> str:
    """Return `8,120 of 10,000 tokens`, and that some of it is estimated."""
    return f"{number(kind, used)} of {amount(kind, limit)}{' (estimated)' if estimated else ''}"


def amount(kind: BudgetKind, value: float) -> str:
    """Return a number of tokens, dollars, calls or seconds, for people."""
    return f"{number(kind, value)} {unit(kind, value)}"


def number(kind: BudgetKind, value: float) -> str:
    """Return the number without the unit."""
    match kind:
        case "money":
            return money(value)
        case "working_time":
            return f"{value:,.0f}" if value >= 10 else f"{value:g}"
        case "tokens" | "model_calls" | "tool_calls":
            return f"{value:,.0f}"


def unit(kind: BudgetKind, value: float) -> str:
    """Return the unit of a budget."""
    match kind:
        case "money":
            return "USD"
        case "working_time":
            return "s"
        case "tokens":
            return "tokens"
        case "model_calls" | "tool_calls":
            return "call" if value == 1 else "calls"


def money(dollars: float) -> str:
    """Return dollars with cents; of small amounts, the significant digits."""
    if dollars >= 1:
        return f"{dollars:,.2f}"
    whole, _, digits = f"{dollars:.{_places(dollars)}f}".partition(".")
    return f"{whole}.{digits[:2]}{digits[2:].rstrip('0')}"


def column_money(dollars: float) -> str:
    """Return dollars with four decimal places; of what would be 0 then, two significant digits."""
    if 0 < dollars < 0.000_001:
        return "<1e-6"
    return f"{dollars:,.{min(_places(dollars), 6)}f}"


def _places(dollars: float) -> int:
    """Return the decimal places that show at least the first digits of what was spent."""
    return 4 if dollars <= 0 or dollars >= 0.0001 else min(9, 1 - floor(log10(dollars)))


def kind_of(id: str) -> BudgetKind:
    """Return the kind of a budget, from its id."""
    return next(kind for kind in _CALLED if id.endswith(f".{kind}"))


def compiled(budgets: Budgets | None, scope: Scope, name: str = "") -> tuple[Budget, ...]:
    """Return the budgets of one section."""
    if budgets is None:
        return ()
    return tuple(_budget(kind, terms, scope, name) for kind, terms in written(budgets))


def written(budgets: Budgets) -> Iterator[tuple[BudgetKind, AnyBudget]]:
    """Yield the budgets of the section by kind."""
    for kind in _CALLED:
        terms: AnyBudget | None = getattr(budgets, kind)
        if terms is not None:
            yield kind, terms


def _budget(kind: BudgetKind, declaration: AnyBudget, scope: Scope, name: str) -> Budget:
    on_exceeded, terms = limit_reaction(declaration.on_exceeded)
    return Budget(
        kind=kind,
        limit=declaration.limit,
        scope=scope,
        name=name,
        warn_at=declaration.warn_at,
        on_exceeded=on_exceeded,
        terms=terms,
        next_team=declaration.next_team,
    )
