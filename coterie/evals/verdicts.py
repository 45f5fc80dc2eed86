"""Compare paired trials with a baseline's: worse, better, no difference, or undecided. Pure.

A trial is one repeat of one case; its pair is the same repeat of the same case in the baseline.
Only pairs that disagree carry information about a change (McNemar), so cases that always pass or
always fail add no noise. docs/evals.md states the error rates and the power.
"""

from collections.abc import Iterable
from math import ceil, comb, sqrt
from typing import Literal, NamedTuple

from coterie.evals.success_rates import Interval, quantile

Verdict = Literal["worse", "better", "no difference", "undecided"]

WORSE_LEVEL = 0.05
"""Probability of reporting `worse` for an unchanged system; one-sided."""
BETTER_LEVEL = 0.01
"""Probability of reporting `better` for an unchanged system; one-sided. A claim of progress needs
stronger evidence than an alarm."""
EQUAL_LEVEL = 0.05
"""Probability of reporting `no difference` for a system that differs by the margin."""
DEFAULT_MARGIN = 0.1
"""Difference of two success rates that matters."""
PLANNED_POWER = 0.9
"""Probability that the proposed number of repeats decides."""


class Pairs(NamedTuple):
    """Counts of the pairs of trials, by what each trial of a pair did."""

    both: int
    """Both passed."""
    lost: int
    """The baseline passed, the candidate failed."""
    gained: int
    """The baseline failed, the candidate passed."""
    neither: int
    """Both failed."""

    @property
    def total(self) -> int:
        """All pairs."""
        return self.both + self.lost + self.gained + self.neither

    @property
    def difference(self) -> float:
        """Success rate of the candidate minus that of the baseline."""
        return (self.gained - self.lost) / self.total if self.total else 0.0


class PairComparison(NamedTuple):
    """A verdict with the numbers that led to it."""

    verdict: Verdict
    difference: float
    """Estimated change of the success rate."""
    interval: Interval
    """90 % interval of the change: equality is tested with 5 % on each side."""
    worse_p: float
    """Probability of at least this loss if nothing changed."""
    better_p: float
    """Probability of at least this gain if nothing changed."""
    more_pairs: int = 0
    """Pairs that are still needed, if undecided."""


def counted(pairs: Iterable[tuple[bool, bool]]) -> Pairs:
    """Count pairs of (baseline passed, candidate passed)."""
    both = lost = gained = neither = 0
    for before, now in pairs:
        both += before and now
        lost += before and not now
        gained += now and not before
        neither += not before and not now
    return Pairs(both, lost, gained, neither)


def decide(pairs: Pairs, margin: float = DEFAULT_MARGIN) -> PairComparison:
    """Decide what the pairs show.

    `worse` and `better` come from McNemar's exact test with mid-p values. `no difference` means
    that the whole interval of the change lies within the margin (two one-sided tests), so missing
    evidence is never taken for equality.

    Args:
        pairs: What the trials did.
        margin: The smallest change that matters, above 0 and below 1.
    """
    worse_p = _mid_p(pairs.lost, pairs.gained)
    better_p = _mid_p(pairs.gained, pairs.lost)
    interval = change_interval(pairs, 1 - 2 * EQUAL_LEVEL)
    verdict = _verdict(worse_p, better_p, interval, margin)
    more = more_pairs(pairs, margin) if verdict == "undecided" else 0
    return PairComparison(verdict, pairs.difference, interval, worse_p, better_p, more)


def _verdict(worse_p: float, better_p: float, interval: Interval, margin: float) -> Verdict:
    if worse_p <= WORSE_LEVEL:
        return "worse"
    if better_p <= BETTER_LEVEL:
        return "better"
    if -margin < interval.low and interval.high < margin:
        return "no difference"
    return "undecided"


def _mid_p(against: int, favor: int) -> float:
    """Return the one-sided mid-p value of McNemar's exact test.

    If nothing changed, each pair that disagrees falls to either side like a fair coin. The mid-p
    value counts half of the observed outcome, which makes up for the steps of small counts.
    """
    disagree = against + favor
    total = 1 << disagree
    at = term = comb(disagree, against)
    beyond = 0
    for number in range(against, disagree):  # each from the one before: fast for 10,000 pairs
        term = term * (disagree - number) // (number + 1)
        beyond += term
    return (2 * beyond + at) / (2 * total)


def change_interval(pairs: Pairs, confidence: float) -> Interval:
    """Return Bonett and Price's interval for the change of a success rate in pairs.

    It adds one pair to each kind of disagreement, so that few pairs that all agree do not look
    like certainty.
    """
    if pairs.total == 0:
        return Interval(-1.0, 1.0)
    z = quantile((1 + confidence) / 2)
    lost, gained = _smooth_rates(pairs)
    change = gained - lost
    half = z * sqrt(_variance(pairs) / (pairs.total + 2))
    return Interval(max(-1.0, change - half), min(1.0, change + half))


def _smooth_rates(pairs: Pairs) -> tuple[float, float]:
    return (pairs.lost + 1) / (pairs.total + 2), (pairs.gained + 1) / (pairs.total + 2)


def _variance(pairs: Pairs) -> float:
    """Return the variance that one pair contributes to the change."""
    lost, gained = _smooth_rates(pairs)
    return lost + gained - (gained - lost) ** 2


def more_pairs(pairs: Pairs, margin: float) -> int:
    """Return how many more pairs probably decide; at least 1.

    It takes the observed change as the true one: the farther end of the margin decides it, either
    as a difference from 0 or as equality within the margin. The change is at least half a margin
    from one of them, so the number is finite.
    """
    change = abs(pairs.difference)
    level = WORSE_LEVEL if pairs.difference <= 0 else BETTER_LEVEL
    needed = [
        _pairs_needed(pairs, distance, quantile(1 - at), both_sides=sides)
        for distance, at, sides in (
            (change, level, False),
            (margin - change, EQUAL_LEVEL, True),
        )
        if distance > 0
    ]
    return max(1, min(needed) - pairs.total)


def _pairs_needed(pairs: Pairs, distance: float, z: float, *, both_sides: bool) -> int:
    """Return the pairs that a test needs to see this distance with the planned power."""
    # Equality needs both tests to pass; at a change of 0, each may miss half as often.
    power = (1 + PLANNED_POWER) / 2 if both_sides else PLANNED_POWER
    return ceil(_variance(pairs) * ((z + quantile(power)) / distance) ** 2)
