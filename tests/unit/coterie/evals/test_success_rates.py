"""The interval of a success rate."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.evals.success_rates import wilson


@pytest.mark.parametrize(
    ("passed", "trials", "low", "high"),
    [
        (70, 100, 0.604, 0.781),  # the textbook's example: Newcombe 1998, method 3
        (0, 10, 0.0, 0.278),
        (10, 10, 0.722, 1.0),
        (1, 1, 0.207, 1.0),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilson_gives_the_known_interval(passed: int, trials: int, low: float, high: float) -> None:
    interval = wilson(passed, trials)
    assert (round(interval.low, 3), round(interval.high, 3)) == (low, high)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_contains_the_rate_and_mirrors(counts: tuple[int, int]) -> None:
    passed, trials = counts
    interval = wilson(passed, trials)
    mirrored = wilson(trials - passed, trials)
    assert 0 <= interval.low <= passed / trials <= interval.high <= 1
    assert interval.low == pytest.approx(1 - mirrored.high)


@given(st.integers(1, 100), st.integers(0, 100))
def test_wilson_narrows_with_ten_times_the_trials(trials: int, share: int) -> None:
    passed = trials * share // 100
    few, many = wilson(passed, trials), wilson(10 * passed, 10 * trials)
    assert many.high - many.low < few.high - few.low


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.55, 0.7, 0.9, 0.98])
@pytest.mark.parametrize("trials", [20, 50, 100])
def test_wilson_covers_the_true_rate_nearly_as_often_as_it_says(rate: float, trials: int) -> None:
    covered = sum(
        comb(trials, passed) * rate**passed * (1 - rate) ** (trials - passed)
        for passed in range(trials + 1)
        if wilson(passed, trials).low <= rate <= wilson(passed, trials).high
    )
    assert covered > 0.91


@pytest.mark.parametrize(("passed", "trials"), [(2, 1), (-1, 5)])
def test_wilson_refuses_impossible_counts(passed: int, trials: int) -> None:
    with pytest.raises(ValueError, match="cannot have passed"):
        wilson(passed, trials)
