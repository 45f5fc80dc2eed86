"""The latest evals of a team: success rates with their intervals. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from coterie.evals.kept_reports import KeptReport
from coterie.gateway.console.eval_page import RateLine, rate_line, verdict_of
from coterie.runs.progress import Tone


@dataclass(frozen=True, slots=True)
class EvalLine:
    """The latest report of one suite."""

    suite: str
    url: str
    """Of its page."""
    at: datetime
    verdict: str
    tone: Tone
    variants: tuple[RateLine, ...]


def eval_lines(kept: Sequence[KeptReport]) -> tuple[EvalLine, ...]:
    """Return the latest report of each suite."""
    return tuple(map(_line, kept))


def _line(kept: KeptReport) -> EvalLine:
    report = kept.report
    verdict, tone = verdict_of(report)
    variants = tuple(rate_line(variant.total, variant.total.name) for variant in report.variants)
    return EvalLine(report.suite, f"/evals/{kept.id}", kept.at, verdict, tone, variants)
