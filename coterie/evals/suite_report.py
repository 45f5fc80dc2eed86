"""Add up the results of a suite, and compare them with a baseline. Pure."""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Literal

from pydantic import JsonValue

from coterie.dsl.values import Frozen
from coterie.evals.baselines import Baseline, BaselineCase
from coterie.evals.graders import Grade
from coterie.evals.success_rates import wilson
from coterie.evals.suite import case_digest
from coterie.evals.suite_runner import SuiteRun, UnjudgedTrial
from coterie.evals.trial_results import TrialResult
from coterie.evals.verdicts import Verdict, counted, decide

Target = Literal["met", "missed", "open"]
"""Whether the wanted success rate is reached: the interval is above it, below it, or around it."""


class RateRow(Frozen):
    """Totals over the trials of one case, or of one variant."""

    name: str
    passed: int
    trials: int
    rate: float
    low: float
    """Lower end of Wilson's 95 % interval of the rate."""
    high: float
    model_calls: float
    """Mean of a trial, as are the following."""
    function_calls: float
    teams_run: float
    tokens: float
    seconds: float
    cost: float | None
    """US dollars of all trials; None when no call has a price."""


class ChangeRow(Frozen):
    """The comparison of a variant with its baseline."""

    verdict: Verdict
    pairs: int
    """Trials that were compared: the same repeat of the same case on both sides."""
    missing_pairs: int = 0
    """Trials of the baseline whose pair has no result here: void, or not started."""
    baseline_rate: float
    rate: float
    """Of the compared trials."""
    difference: float
    low: float
    """Lower end of the 90 % interval of the difference."""
    high: float
    worse_p: float
    better_p: float
    more_repeats: int = 0
    """Repeats of each case that are still needed, if undecided."""
    left_out: tuple[str, ...] = ()
    """Cases that are new, or have another task or other graders than in the baseline."""


class VariantReport(Frozen):
    """The results of one variant."""

    total: RateRow
    cases: tuple[RateRow, ...]
    target: Target | None = None
    """None when the suite wants no rate."""
    change: ChangeRow | None = None
    """None without a baseline of this variant."""


class FailedTrial(Frozen):
    """A trial that did not succeed."""

    run: str
    variant: str
    case: str
    repeat: int
    because: str
    input: JsonValue = None
    """The context of its case; of a session, the messages."""
    output: JsonValue = None
    """What its run returned; of a session, the replies."""
    grades: tuple[Grade, ...] = ()


class SuiteReport(Frozen):
    """The results of a suite."""

    suite: str
    team: str
    repeats: int
    margin: float
    at_least: float | None
    left_out: int
    """Trials that did not start, because the budget was used up."""
    variants: tuple[VariantReport, ...]
    failures: tuple[FailedTrial, ...]
    unjudged: tuple[UnjudgedTrial, ...] = ()
    """Trials without a result: void ones, and those without a verdict."""
    judge_calls: int = 0
    """Model calls of the judges of all trials."""
    judge_cost: float | None = None
    """US dollars of the judges, in addition to the cost of the trials."""

    @property
    def is_bad(self) -> bool:
        """Whether a variant got worse or misses the wanted rate, or trials did not start."""
        return bool(self.left_out) or any(
            variant.target == "missed"
            or (variant.change is not None and variant.change.verdict == "worse")
            for variant in self.variants
        )

    @property
    def is_open(self) -> bool:
        """Whether a comparison or a wanted rate is undecided."""
        return any(
            variant.target == "open"
            or (variant.change is not None and variant.change.verdict == "undecided")
            for variant in self.variants
        )


def report_of(run: SuiteRun, baseline: Baseline | None = None) -> SuiteReport:
    """Return the report of a suite's results."""
    document = run.suite.document
    grades = [grade for result in run.results for grade in result.grades]
    costs = [grade.cost for grade in grades if grade.cost is not None]
    return SuiteReport(
        suite=document.name,
        team=document.team,
        repeats=document.repeats,
        margin=document.margin,
        at_least=document.at_least,
        left_out=run.left_out,
        variants=tuple(_variants(run, baseline)),
        failures=tuple(_failed_trial(result, run) for result in run.results if not result.passed),
        unjudged=run.unjudged,
        judge_calls=sum(grade.model_calls for grade in grades),
        judge_cost=sum(costs) if costs else None,
    )


def _variants(run: SuiteRun, baseline: Baseline | None) -> Iterator[VariantReport]:
    for variant in run.suite.variants:
        own = [result for result in run.results if result.variant == variant.name]
        total = _row(variant.name, own)
        yield VariantReport(
            total=total,
            cases=tuple(
                _row(case.name, [result for result in own if result.case == case.name])
                for case in run.suite.document.cases
            ),
            target=_target(total, run.suite.document.at_least),
            change=None if baseline is None else _change(run, baseline, variant.name, own),
        )


def _row(name: str, results: Sequence[TrialResult]) -> RateRow:
    passed, trials = sum(result.passed for result in results), len(results)
    interval = wilson(passed, trials)
    costs = [result.end.cost for result in results if result.end.cost is not None]
    return RateRow(
        name=name,
        passed=passed,
        trials=trials,
        rate=passed / trials if trials else 0.0,
        low=interval.low,
        high=interval.high,
        model_calls=_mean([result.end.model_calls for result in results]),
        function_calls=_mean([result.end.function_calls for result in results]),
        teams_run=_mean([result.end.teams_run for result in results]),
        tokens=_mean([result.end.tokens for result in results]),
        seconds=_mean([result.end.seconds for result in results]),
        cost=sum(costs) if costs else None,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _target(total: RateRow, at_least: float | None) -> Target | None:
    if at_least is None:
        return None
    if total.low >= at_least:
        return "met"
    return "missed" if total.high < at_least else "open"


def _change(
    run: SuiteRun, baseline: Baseline, variant: str, results: Sequence[TrialResult]
) -> ChangeRow | None:
    """Compare the trials of a variant with the same trials of the baseline."""
    if variant not in baseline.variants:
        return None
    pairs: list[tuple[bool, bool]] = []
    left_out: list[str] = []
    compared = expected_pairs = 0
    for case in run.suite.document.cases:
        case_baseline = baseline.case(variant, case.name)
        if case_baseline is None or case_baseline.digest != case_digest(run.suite, case):
            left_out.append(case.name)
            continue
        compared += 1
        expected_pairs += sum(
            trial.repeat <= run.suite.document.repeats for trial in case_baseline.trials
        )
        pairs += _pairs(case_baseline, [result for result in results if result.case == case.name])
    comparison = decide(counted(pairs), run.suite.document.margin)
    return ChangeRow(
        verdict=comparison.verdict,
        pairs=len(pairs),
        missing_pairs=max(0, expected_pairs - len(pairs)),
        baseline_rate=_mean([before for before, _ in pairs]),
        rate=_mean([now for _, now in pairs]),
        difference=comparison.difference,
        low=comparison.interval.low,
        high=comparison.interval.high,
        worse_p=comparison.worse_p,
        better_p=comparison.better_p,
        more_repeats=ceil(comparison.more_pairs / max(compared, 1)),
        left_out=tuple(left_out),
    )


def _pairs(
    case_baseline: BaselineCase, results: Sequence[TrialResult]
) -> Iterator[tuple[bool, bool]]:
    before = {trial.repeat: trial.passed for trial in case_baseline.trials}
    for result in results:
        if result.repeat in before:
            yield before[result.repeat], result.passed


def _failed_trial(result: TrialResult, run: SuiteRun) -> FailedTrial:
    cases = {case.name: case for case in run.suite.document.cases}
    case = cases[result.case]
    return FailedTrial(
        run=result.run,
        variant=result.variant,
        case=result.case,
        repeat=result.repeat,
        because=result.because,
        input=[*case.messages] if case.messages else case.context,
        output=[*result.end.replies] if case.messages else result.end.output,
        grades=result.grades,
    )
