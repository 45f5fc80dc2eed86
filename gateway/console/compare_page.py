"""The page that compares two runs: path, context, cost, decisions, answers. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from coterie.gateway.console.decisions_view import PathChangeRow, change_row
from coterie.gateway.console.page_values import ShownValue, shown_value, took
from coterie.inspection.run_comparison import ComparedRun, PathStep, RunComparison
from coterie.rendering.cost_tables import money_text
from coterie.rendering.request_text import decision_line
from coterie.workflows.core.views import CostRow


@dataclass(frozen=True, slots=True)
class ComparedVisit:
    """The same place on the paths of two runs."""

    number: int
    first: str
    """The visit and how it ended; empty: the path is shorter."""
    first_because: str
    second: str
    second_because: str
    is_same: bool


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """One figure of two runs."""

    name: str
    first: str
    second: str

    @property
    def is_same(self) -> bool:
        """Whether both have the same."""
        return self.first == self.second


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One of the two runs."""

    run: str
    plan: str
    digest: str
    decisions: tuple[str, ...]
    output: ShownValue | None


@dataclass(frozen=True, slots=True)
class ComparePage:
    """Two runs, and where they differ."""

    first: ComparedSide
    second: ComparedSide
    is_same_plan: bool
    parted: str
    """Where the paths part, in words."""
    visits: tuple[ComparedVisit, ...]
    figures: tuple[ComparedFigure, ...]
    context: tuple[PathChangeRow, ...]


def compare_page(found: RunComparison) -> ComparePage:
    """Return the page of a comparison."""
    first, second = found.first, found.second
    return ComparePage(
        first=_side(first),
        second=_side(second),
        is_same_plan=found.is_same_plan,
        parted=_parting(found.parted_at, first.path, second.path),
        visits=tuple(
            _visit(number, one, other)
            for number, (one, other) in enumerate(zip_longest(first.path, second.path), 1)
        ),
        figures=_figures(first.cost, second.cost),
        context=tuple(map(change_row, found.context)),
    )


def _side(run: ComparedRun) -> ComparedSide:
    return ComparedSide(
        run=run.run,
        plan=run.plan,
        digest=run.digest,
        decisions=tuple(map(decision_line, run.decisions)),
        output=None if run.output is None else shown_value(run.output),
    )


def _parting(at: int | None, first: Sequence[PathStep], second: Sequence[PathStep]) -> str:
    if at is None:
        return "Both took the same path."
    return f"The paths part at visit {at + 1} of {max(len(first), len(second))}."


def _visit(number: int, one: PathStep | None, other: PathStep | None) -> ComparedVisit:
    return ComparedVisit(
        number,
        _words(one),
        "" if one is None else one.because,
        _words(other),
        "" if other is None else other.because,
        is_same=one is not None and other is not None and one.turn == other.turn,
    )


def _words(step: PathStep | None) -> str:
    if step is None:
        return ""
    end = step.status or "in progress"
    return f"{step.team}#{step.visit}: {end}, then {step.next_team or 'the end'}"


def _figures(first: CostRow, second: CostRow) -> tuple[ComparedFigure, ...]:
    def money(row: CostRow) -> str:
        return money_text(row.cost, unpriced=bool(row.unpriced))

    return (
        ComparedFigure("Calls", f"{first.calls:,}", f"{second.calls:,}"),
        ComparedFigure("Tokens in", f"{first.input_tokens:,}", f"{second.input_tokens:,}"),
        ComparedFigure("Tokens out", f"{first.output_tokens:,}", f"{second.output_tokens:,}"),
        ComparedFigure("Cost", money(first), money(second)),
        ComparedFigure("Worked", took(first.seconds), took(second.seconds)),
    )
