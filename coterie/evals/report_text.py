"""Print the report of a suite: one row per case, and a sentence for each comparison."""

from typing import assert_never

from coterie.dsl.model.budgets import column_money
from coterie.dsl.visible import one_line
from coterie.evals.suite_report import ChangeRow, RateRow, SuiteReport, VariantReport
from coterie.evals.trial_results import TrialResult
from coterie.text.columns import aligned
from coterie.text.problems import counted

_MAX_BECAUSE = 200
_HEAD = ("case", "passed", "rate", "95 % interval", "model calls", "time", "cost")


def result_line(result: TrialResult) -> str:
    """Format one ended trial for the progress of the command."""
    sign = "ok  " if result.passed else "FAIL"
    because = "" if result.passed else f": {_short(result.because)}"
    return f"{sign} {result.variant} / {result.case} #{result.repeat}{because}"


def report_text(report: SuiteReport) -> str:
    """Format the report for people."""
    parts = [_variant_text(variant, report) for variant in report.variants]
    if report.left_out:
        trials = counted(report.left_out, "trial")
        parts.append(
            f"max_cost is used up: {trials} did not start; raise it and repeat the command"
        )
    if report.judge_calls:
        parts.append(judges_text(report))
    parts += unjudged_texts(report)
    return "\n\n".join(parts)


def judges_text(report: SuiteReport) -> str:
    """Say what the judges took besides the trials."""
    cost = "" if report.judge_cost is None else f", ${column_money(report.judge_cost)}"
    return f"judges of the rubrics: {counted(report.judge_calls, 'model call')}{cost}"


def unjudged_texts(report: SuiteReport) -> list[str]:
    """Name each trial without a result: void, or without a verdict."""
    texts = [f"no result for {trial.run}: {one_line(trial.because)}" for trial in report.unjudged]
    return [*texts, "to run or judge these again, repeat the command"] if texts else []


def _variant_text(variant: VariantReport, report: SuiteReport) -> str:
    rows = [_HEAD, *(_cells(row) for row in variant.cases), _cells(variant.total, "all")]
    table = "\n".join(aligned(rows, right=range(1, len(_HEAD))))
    lines = [f"{report.suite}, variant {variant.total.name}", table]
    if variant.target is not None:
        lines.append(target_text(variant, report.at_least or 0.0))
    if variant.change is not None:
        lines.append(change_text(variant.change, report.margin))
    return "\n".join(lines)


def _cells(row: RateRow, name: str | None = None) -> tuple[str, ...]:
    return (
        name or row.name,
        f"{row.passed}/{row.trials}",
        percent(row.rate),
        f"{percent(row.low)} to {percent(row.high)}",
        f"{row.model_calls:.1f}",
        f"{row.seconds:.1f} s",
        "-" if row.cost is None else f"${column_money(row.cost)}",
    )


def target_text(variant: VariantReport, at_least: float) -> str:
    """Say whether a variant reaches the wanted success rate."""
    goal = f"the wanted rate of {percent(at_least)}"
    match variant.target:
        case "met":
            return f"{goal} is met: the whole interval is above it"
        case "missed":
            return f"{goal} is missed: the whole interval is below it"
        case "open":
            return f"{goal} is within the interval: more repeats decide"
        case None:
            return ""
        case _:
            assert_never(variant.target)


def change_text(change: ChangeRow, margin: float) -> str:
    """Say what the comparison with the baseline shows."""
    note = ""
    if change.left_out:
        note = f"; not compared, because they are new or changed: {', '.join(change.left_out)}"
    if not change.pairs:
        return f"baseline: nothing to compare{note}"
    rates = f"{percent(change.baseline_rate)} -> {percent(change.rate)}"
    numbers = (
        f"{rates} in {pairs_text(change)}, change {points(change.low)} to {points(change.high)}"
    )
    return f"baseline: {verdict_text(change, margin)} ({numbers}){note}"


def pairs_text(change: ChangeRow) -> str:
    """Say on how many pairs the verdict rests, and how many there would be."""
    if not change.missing_pairs:
        return counted(change.pairs, "pair")
    whole = counted(change.pairs + change.missing_pairs, "pair")
    return f"{change.pairs} of {whole}, the others without a result"


def verdict_text(change: ChangeRow, margin: float) -> str:
    """Format the verdict alone."""
    match change.verdict:
        case "worse" | "better":
            return change.verdict
        case "no difference":
            return f"no difference of {percent(margin)} or more"
        case "undecided":
            more = counted(change.more_repeats, "more repeat")
            return f"undecided, {more} of each case needed on both sides"
        case _:
            assert_never(change.verdict)


def percent(rate: float) -> str:
    """Format a rate: `72 %`."""
    return f"{100 * rate:.0f} %"


def points(change: float) -> str:
    """Format a change of a rate: `-12 points`."""
    return f"{100 * change:+.0f} points"


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _MAX_BECAUSE else f"{line[:_MAX_BECAUSE]}..."
