"""What `coterie check` proves about a plan, beside what its run used. Pure.

A run's history has its plan and not its document: what the analysis needs of the document is only
where things are written, so the plan's own places stand in for it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from coterie.documents.price_lists import prices
from coterie.dsl.analysis.findings import analysed
from coterie.dsl.analysis.worst_case import WorstCase, bounded, worst_case
from coterie.dsl.analysis.worst_case_of_models import Terms
from coterie.dsl.compile.compiler import Compiled
from coterie.dsl.model.budgets import money
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.sections.worker_document import WorkerSection
from coterie.dsl.source.nodes import Mark, Node
from coterie.gateway.console.spending import UsageMeter
from coterie.workflows.core.views import RunStatus

INPUT_TOKENS = 20_000
"""The assumed length of a prompt, as `coterie check` assumes it."""


@dataclass(frozen=True, slots=True)
class Proofs:
    """The bounds of a plan, and what a run used of them."""

    run: tuple[UsageMeter, ...]
    teams: tuple[UsageMeter, ...]
    """Visits of each team."""
    unbounded: tuple[str, ...]
    """Loops that nothing bounds."""
    unpriced: tuple[str, ...]
    """Models without a price, which no bound of money covers."""


def worst_of_plan(plan: Plan) -> WorstCase:
    """Return the worst case of a plan alone, without its document."""
    nowhere = Node({}, Mark("the plan", 1, 1))
    compiled = Compiled(plan, WorkerSection(), {}, (), nowhere)
    terms = Terms(
        {**prices(plan, {}, {}, "", INPUT_TOKENS).prices, **plan.prices},
        INPUT_TOKENS,
    )
    return worst_case(compiled, analysed(compiled), terms)


def proofs_of(plan: Plan, status: RunStatus, decisions: int) -> Proofs:
    """Return the bounds beside the use.

    Args:
        plan: Of the run.
        status: Of the run.
        decisions: How often a person has decided.
    """
    worst = worst_of_plan(plan)
    used: Mapping[str, tuple[float, float]] = {
        "team visits": (status.teams_run, min(worst.total.visits, plan.limits.max_total_teams)),
        "model calls": (status.model_calls, worst.total.model_calls),
        "function calls": (status.function_calls, worst.total.function_calls),
        "approvals": (decisions, worst.total.approvals),
        "output tokens": (status.usage.output_tokens, worst.total.output_tokens),
    }
    meters = [_meter(name, now, bound) for name, (now, bound) in used.items()]
    if status.cost is not None and not worst.total.unpriced:
        meters.append(_money(status.cost, worst.total.cost))
    return Proofs(
        tuple(meters),
        tuple(_teams(worst, status)),
        tuple(f"{loop.step} iterates over {loop.length_of}" for loop in worst.unbounded),
        worst.total.unpriced,
    )


def _teams(worst: WorstCase, status: RunStatus) -> Iterator[UsageMeter]:
    for team, figures in worst.teams.items():
        yield _meter(team, status.visits.get(team, 0), figures.visits)


def _meter(name: str, used: float, bound: float) -> UsageMeter:
    if not bounded(bound):
        return UsageMeter(name, f"{used:,.0f}", "", None)
    share = used / bound if bound else (0.0 if not used else 1.0)
    return UsageMeter(name, f"{used:,.0f}", f"{bound:,.0f}", share)


def _money(used: float, bound: float) -> UsageMeter:
    if not bounded(bound):
        return UsageMeter("cost", f"{money(used)} USD", "", None)
    share = used / bound if bound else 0.0
    return UsageMeter("cost", f"{money(used)} USD", f"{money(bound)} USD", share)
