"""The baseline file: what each trial of a suite gave, to compare later trials with."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import Field, ValidationError

from coterie.argument_values import read_text
from coterie.dsl.values import Frozen
from coterie.evals.suite import case_digest
from coterie.evals.suite_runner import SuiteRun
from coterie.evals.trial_results import TrialResult
from coterie.failures import CommandError

FORMAT = 1


class BaselineTrial(Frozen):
    """One trial."""

    repeat: int
    passed: bool
    model_calls: int = 0
    seconds: float = 0.0
    cost: float | None = None


class BaselineCase(Frozen):
    """All trials of one case with one variant."""

    digest: str
    """Of the case and its graders: only the same task is compared."""
    trials: tuple[BaselineTrial, ...]


class Baseline(Frozen):
    """The results of a suite."""

    format: int = FORMAT
    suite: str
    variants: dict[str, dict[str, BaselineCase]] = Field(
        default_factory=dict[str, dict[str, BaselineCase]]
    )
    """`{variant: {case: its trials}}`."""

    def case(self, variant: str, case: str) -> BaselineCase | None:
        """Return the trials of a case; None if there are none."""
        return self.variants.get(variant, {}).get(case)


def baseline_of(run: SuiteRun) -> Baseline:
    """Return the results of a suite as a baseline."""
    cases = {case.name: case_digest(run.suite, case) for case in run.suite.document.cases}
    variants: dict[str, dict[str, BaselineCase]] = {}
    for variant in run.suite.variants:
        own = [result for result in run.results if result.variant == variant.name]
        variants[variant.name] = dict(_cases(cases, own))
    return Baseline(suite=run.suite.document.name, variants=variants)


def _cases(
    digests: Mapping[str, str], results: list[TrialResult]
) -> Iterator[tuple[str, BaselineCase]]:
    for name, digest in digests.items():
        trials = tuple(_trial(result) for result in results if result.case == name)
        yield name, BaselineCase(digest=digest, trials=trials)


def _trial(result: TrialResult) -> BaselineTrial:
    return BaselineTrial(
        repeat=result.repeat,
        passed=result.passed,
        model_calls=result.end.model_calls,
        seconds=result.end.seconds,
        cost=result.end.cost,
    )


def baseline_text(baseline: Baseline) -> str:
    """Format a baseline for its file: a line for each trial, so that a diff shows what changed."""
    return json.dumps(baseline.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"


def read_baseline(file: Path, name: str, suite: str) -> Baseline:
    """Read a baseline of this suite.

    Raises:
        CommandError: It is none, or another suite's.
        InvalidDocument: It cannot be read.
    """
    try:
        baseline = Baseline.model_validate_json(read_text(file, name))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "the file"
        raise CommandError(
            f"{name} is not a baseline ({key}: {first['msg']}); write one with --save-baseline"
        ) from None
    if baseline.format != FORMAT:
        raise CommandError(
            f"{name} has the format {baseline.format}, and this version reads {FORMAT}; write it "
            "again with --save-baseline"
        )
    if baseline.suite != suite:
        raise CommandError(
            f"{name} is a baseline of {baseline.suite!r}, and this suite is {suite!r}"
        )
    return baseline
