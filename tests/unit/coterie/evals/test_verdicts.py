"""The comparison of paired trials: exact error rates, properties, and the planted regression."""

from collections import Counter
from math import comb
from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from coterie.evals.verdicts import (
    BETTER_LEVEL,
    WORSE_LEVEL,
    Pairs,
    change_interval,
    counted,
    decide,
)

COUNTS = st.integers(0, 120)
PAIRS = st.builds(Pairs, COUNTS, COUNTS, COUNTS, COUNTS)


@pytest.mark.parametrize(
    ("pairs", "verdict"),
    [
        (Pairs(both=55, lost=15, gained=0, neither=30), "worse"),
        (Pairs(both=55, lost=0, gained=15, neither=30), "better"),
        (Pairs(both=70, lost=0, gained=0, neither=30), "no difference"),
        (Pairs(both=60, lost=10, gained=9, neither=21), "no difference"),
        (Pairs(both=3, lost=0, gained=0, neither=0), "undecided"),
        (Pairs(both=0, lost=0, gained=0, neither=0), "undecided"),
        (Pairs(both=40, lost=20, gained=15, neither=25), "undecided"),
    ],
)
def test_decide_gives_each_verdict(pairs: Pairs, verdict: str) -> None:
    assert decide(pairs).verdict == verdict


def test_decide_needs_stronger_evidence_for_better_than_for_worse() -> None:
    # Five pairs that disagree the same way: mid-p = 0.5 ** 6 = 0.016.
    assert decide(Pairs(95, 5, 0, 0)).verdict == "worse"
    assert decide(Pairs(95, 0, 5, 0)).verdict == "no difference"
    assert decide(Pairs(95, 0, 5, 0)).better_p == pytest.approx(0.5**6)


@given(PAIRS)
def test_decide_mirrors_when_baseline_and_candidate_change_places(pairs: Pairs) -> None:
    there = decide(pairs)
    back = decide(Pairs(pairs.both, pairs.gained, pairs.lost, pairs.neither))
    assert there.worse_p == back.better_p
    assert there.difference == -back.difference
    assert there.interval.low == pytest.approx(-back.interval.high)
    if there.verdict == "better":
        assert back.verdict == "worse"


@given(PAIRS)
def test_decide_is_not_less_alarmed_by_one_more_lost_pair(pairs: Pairs) -> None:
    more = pairs._replace(lost=pairs.lost + 1)
    assert decide(more).worse_p <= decide(pairs).worse_p + 1e-12


@given(PAIRS, st.floats(0.02, 0.4))
def test_decide_says_no_difference_only_if_the_interval_excludes_the_margin(
    pairs: Pairs, margin: float
) -> None:
    found = decide(pairs, margin)
    if found.verdict == "no difference":
        assert -margin < found.interval.low <= found.difference <= found.interval.high < margin


@given(PAIRS, st.floats(0.02, 0.4))
def test_decide_asks_for_more_pairs_exactly_when_undecided(pairs: Pairs, margin: float) -> None:
    found = decide(pairs, margin)
    assert (found.more_pairs >= 1) == (found.verdict == "undecided")


@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(
    st.builds(Pairs, COUNTS, st.integers(5, 40), st.integers(5, 40), COUNTS), st.floats(0.02, 0.1)
)
def test_decide_decides_with_the_pairs_it_asked_for_if_they_look_the_same(
    pairs: Pairs, margin: float
) -> None:
    found = decide(pairs, margin)
    # Rounding of scaled counts matters for few pairs, and at a change of half a margin.
    assume(found.verdict == "undecided" and pairs.total >= 20)
    factor = 1 + -(-found.more_pairs // pairs.total)
    assert decide(Pairs(*(count * factor for count in pairs)), margin).verdict != "undecided"


@pytest.mark.parametrize("disagree", [1, 4, 5, 8, 15, 21, 42, 99])
def test_decide_alarms_an_unchanged_system_about_as_rarely_as_it_says(disagree: int) -> None:
    """Enumerate every outcome of an unchanged system: exact, without chance."""
    chance = Counter[str]()
    for lost in range(disagree + 1):
        found = decide(Pairs(100, lost, disagree - lost, 0))
        chance[found.verdict] += comb(disagree, lost)  # in units of 0.5 ** disagree
    outcomes = 1 << disagree
    assert chance["worse"] / outcomes <= WORSE_LEVEL * 1.3
    assert chance["better"] / outcomes <= BETTER_LEVEL * 1.4


@pytest.mark.parametrize("disagree", [0.12, 0.2, 0.42])
def test_decide_rarely_calls_a_change_of_the_margin_no_difference(disagree: float) -> None:
    random = Random(7)
    lost = (disagree + 0.1) / 2  # the true change is -0.1, the margin
    verdicts = Counter(
        decide(_drawn(random, 300, lost, disagree - lost)).verdict for _ in range(300)
    )
    assert verdicts["no difference"] <= 300 * 0.08


def _drawn(random: Random, number: int, lost: float, gained: float) -> Pairs:
    drawn = [random.random() for _ in range(number)]
    lost_pairs = sum(one < lost for one in drawn)
    gained_pairs = sum(lost <= one < lost + gained for one in drawn)
    return Pairs(number - lost_pairs - gained_pairs, lost_pairs, gained_pairs, 0)


@given(PAIRS)
def test_change_interval_contains_the_smoothed_change_and_stays_possible(pairs: Pairs) -> None:
    interval = change_interval(pairs, 0.9)
    assert -1 <= interval.low <= interval.high <= 1


def _trials(random: Random, rate: float, after: float, noise: float) -> Pairs:
    """Run 100 seeded trials twice: a trial's seed decides, except for a share of noise.

    Args:
        random: Source of the seeds.
        rate: Success rate of the baseline.
        after: Success rate of the candidate.
        noise: Share of the trials whose second run has nothing in common with the first.
    """
    pairs: list[tuple[bool, bool]] = []
    for _ in range(100):
        seed = random.random()
        again = random.random() if random.random() < noise else seed
        pairs.append((seed < rate, again < after))
    return counted(pairs)


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.2])
@pytest.mark.parametrize("seed", range(2026, 2030))
def test_decide_finds_the_planted_regression_and_not_the_planted_nothing(
    seed: int, noise: float
) -> None:
    """Compare 200 pairs of 100 seeded trials: 100 with a planted regression, 100 with nothing."""
    random = Random(seed)
    regressions = [decide(_trials(random, 0.70, 0.55, noise)).verdict for _ in range(100)]
    nothings = [decide(_trials(random, 0.70, 0.70, noise)).verdict for _ in range(100)]
    assert regressions.count("worse") >= 90
    assert nothings.count("worse") + nothings.count("better") <= 10


def test_decide_finds_a_regression_of_independent_trials_less_often_than_of_seeded_ones() -> None:
    """State the power without pairing, as docs/evals.md does: no test of 100 trials has 90 %."""
    random = Random(2026)
    verdicts = Counter(decide(_trials(random, 0.70, 0.55, 1.0)).verdict for _ in range(400))
    assert 0.62 < verdicts["worse"] / 400 < 0.79
    assert verdicts["better"] + verdicts["no difference"] <= 4
    assert verdicts["undecided"] > 80
