"""Estimate a success rate from counted trials. Pure."""

from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

CONFIDENCE = 0.95
"""Confidence level of the intervals that reports show."""


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


def quantile(probability: float) -> float:
    """Return the quantile of the standard normal distribution."""
    return NormalDist().inv_cdf(probability)


def wilson(passed: int, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """Return Wilson's score interval for a success rate.

    Unlike the textbook interval (rate +- 1.96 standard errors), it keeps its confidence for few
    trials and for rates near 0 and 1.

    Args:
        passed: Trials that passed.
        trials: All trials; for 0, nothing is known and the interval is (0, 1).
        confidence: Probability that the interval contains the true rate.

    Raises:
        ValueError: `passed` is not within 0 and `trials`.
    """
    if not 0 <= passed <= trials:
        raise ValueError(f"{passed} of {trials} trials cannot have passed")
    if trials == 0:
        return Interval(0.0, 1.0)
    z = quantile((1 + confidence) / 2)
    rate = passed / trials
    shrunk = 1 + z * z / trials
    center = (rate + z * z / (2 * trials)) / shrunk
    half = z * sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials)) / shrunk
    low = 0.0 if passed == 0 else max(0.0, center - half)
    high = 1.0 if passed == trials else min(1.0, center + half)
    return Interval(low, high)
