"""The report of a suite as a page: success rates with their intervals, failed trials in full."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from shlex import quote

from coterie.dsl.model.budgets import column_money
from coterie.evals.graders import Grade
from coterie.evals.report_text import (
    change_text,
    judges_text,
    percent,
    target_text,
    unjudged_texts,
)
from coterie.evals.suite_report import FailedTrial, RateRow, SuiteReport, VariantReport
from coterie.gateway.console.page_templates import offline_frame, render
from coterie.gateway.console.page_values import ShownValue, shown_value
from coterie.runs.progress import Tone
from coterie.text.problems import counted

RunLink = Callable[[str], str]
"""Returns the address of a run in the console; empty if there is none."""


def no_link(_: str) -> str:
    """Return no address."""
    return ""


@dataclass(frozen=True, slots=True)
class RateLine:
    """One row of the table of a variant."""

    name: str
    passed: str
    rate: str
    interval: str
    low: float
    """Of the interval, in hundredths, like the following."""
    width: float
    at: float
    model_calls: str
    tokens: str
    time: str
    cost: str


@dataclass(frozen=True, slots=True)
class VariantTable:
    """The results of one variant."""

    name: str
    sentences: tuple[tuple[str, str], ...]
    """The verdicts: each with its kind."""
    rows: tuple[RateLine, ...]
    total: RateLine


@dataclass(frozen=True, slots=True)
class FailedTrialCard:
    """One trial that failed."""

    case: str
    repeat: int
    variant: str
    run: str
    because: str
    command: str
    link: str
    """The address of its run in the console; empty if there is none."""
    input: ShownValue
    output: ShownValue
    grades: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EvalPage:
    """The report of a suite."""

    report: SuiteReport
    verdict: str
    tone: Tone
    repeats: str
    notes: tuple[str, ...]
    judges: str
    variants: tuple[VariantTable, ...]
    failures: tuple[FailedTrialCard, ...]


def report_html(report: SuiteReport, link: RunLink = no_link) -> str:
    """Return the report of a suite as one HTML file."""
    return render("eval.html", offline_frame(f"Eval of {report.suite}"), eval_page(report, link))


def eval_page(report: SuiteReport, link: RunLink = no_link) -> EvalPage:
    """Return the page of a report.

    Args:
        report: The report.
        link: Returns the address of a run.
    """
    notes = [*unjudged_texts(report)]
    if report.left_out:
        trials = counted(report.left_out, "trial")
        notes.insert(0, f"The budget is used up: {trials} did not start.")
    verdict, tone = verdict_of(report)
    return EvalPage(
        report=report,
        verdict=verdict,
        tone=tone,
        repeats=f"{counted(report.repeats, 'repeat')} of each case.",
        notes=tuple(notes),
        judges=judges_text(report) if report.judge_calls else "",
        variants=tuple(_variant(variant, report) for variant in report.variants),
        failures=tuple(_failure(trial, link) for trial in report.failures),
    )


def verdict_of(report: SuiteReport) -> tuple[str, Tone]:
    """Return what a report says of its team, in words."""
    if report.is_bad:
        return "worse, missed or incomplete", "bad"
    if report.is_open or report.unjudged:
        return "undecided", "waiting"
    return "as wanted", "good"


def _variant(variant: VariantReport, report: SuiteReport) -> VariantTable:
    return VariantTable(
        variant.total.name,
        tuple(_sentences(variant, report)),
        tuple(rate_line(row, row.name) for row in variant.cases),
        rate_line(variant.total, "all"),
    )


def _sentences(variant: VariantReport, report: SuiteReport) -> Iterator[tuple[str, str]]:
    if variant.target is not None:
        yield variant.target, target_text(variant, report.at_least or 0.0)
    if variant.change is not None:
        yield variant.change.verdict, change_text(variant.change, report.margin)


def rate_line(row: RateRow, name: str) -> RateLine:
    """Return totals as a row with an interval to draw."""
    return RateLine(
        name=name,
        passed=f"{row.passed}/{row.trials}",
        rate=percent(row.rate),
        interval=f"{percent(row.low)} to {percent(row.high)}",
        low=round(100 * row.low, 1),
        width=round(100 * (row.high - row.low), 1),
        at=round(min(100 * row.rate, 98.5), 1),
        model_calls=f"{row.model_calls:.1f}",
        tokens=f"{row.tokens:,.0f}",
        time=f"{row.seconds:.1f} s",
        cost="-" if row.cost is None else f"${column_money(row.cost)}",
    )


def _failure(trial: FailedTrial, link: RunLink) -> FailedTrialCard:
    run = quote(trial.run)
    return FailedTrialCard(
        case=trial.case,
        repeat=trial.repeat,
        variant=trial.variant,
        run=trial.run,
        because=trial.because,
        command=f"coterie report {run} -o {quote(f'{trial.run}.html')}",
        link=link(trial.run),
        input=shown_value(trial.input),
        output=shown_value(trial.output),
        grades=tuple(map(_grade, trial.grades)),
    )


def _grade(grade: Grade) -> str:
    verdict = "passed" if grade.passed else "failed"
    score = "" if grade.score is None else f", score {grade.score:g}"
    return f"{grade.grader}: {verdict}{score}{f': {grade.because}' if grade.because else ''}"
