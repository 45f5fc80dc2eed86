"""Count how often a comparison of evals finds a planted regression: `python -m bench.eval_power`.

It simulates pairs of evals with seeded trials, and takes each pair through a baseline and the
report of `coterie eval`: half of the pairs fall from 70 % to 55 %, half stay at 70 %. The exit code
is 1 if, with at most 20 % of noise, fewer than 90 % of the falls are reported as `worse`, or more
than 10 % of the others as a difference.
"""

import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from coterie.evals.baselines import Baseline, baseline_of
from coterie.evals.suite_report import report_of
from coterie.evals.suite_runner import SuiteRun
from coterie.evals.verdicts import Verdict
from tests.unit.coterie.evals.suites import SUITE, results_of, suite_in

RATE, FALLEN = 0.70, 0.55
_NOISES = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)
_PROMISED_NOISE = 0.2
"""Above it, no test of 100 trials keeps both promises; docs/evals.md has the figures."""
_FOUND, _FALSE = 0.9, 0.1


class Power(NamedTuple):
    """What the comparisons of one kind of trials reported."""

    noise: float
    """Share of the trials that have nothing in common with their pair."""
    falls: Counter[Verdict]
    others: Counter[Verdict]

    @property
    def found(self) -> int:
        """Falls reported as `worse`."""
        return self.falls["worse"]

    @property
    def false(self) -> int:
        """Pairs without a change, reported as a difference."""
        return self.others["worse"] + self.others["better"]

    @property
    def promised(self) -> bool:
        """Whether both limits hold, as promised up to some noise."""
        found = self.found >= _FOUND * self.falls.total()
        return found and self.false <= _FALSE * self.others.total()


class Evals:
    """A suite of one case, whose trials succeed by their seeds."""

    def __init__(self, folder: Path, trials: int) -> None:
        self._run = results_of(suite_in(folder, _suite(trials)), {})

    def run(self, seeds: Sequence[float], rate: float) -> SuiteRun:
        """Return an eval in which the trials with a seed below the rate succeed."""
        results = tuple(
            result.model_copy(
                update={"end": result.end.model_copy(update={"completed": seed < rate})}
            )
            for result, seed in zip(self._run.results, seeds, strict=True)
        )
        return SuiteRun(self._run.suite, results)

    def verdict(self, random: Random, after: float, noise: float) -> Verdict:
        """Compare one pair of evals."""
        seeds = [random.random() for _ in self._run.results]
        again = [random.random() if random.random() < noise else seed for seed in seeds]
        before: Baseline = baseline_of(self.run(seeds, RATE))
        change = report_of(self.run(again, after), before).variants[0].change
        assert change is not None, "the baseline has the same case"
        return change.verdict


def _suite(trials: int) -> str:
    return SUITE.partition("  - { name: large")[0].replace("repeats: 3", f"repeats: {trials}")


def measure(pairs: int, trials: int, seed: int, noises: Sequence[float] = _NOISES) -> list[Power]:
    """Return what the comparisons report.

    Args:
        pairs: Pairs of evals for each share of noise; half of them have a fall.
        trials: Trials of each eval.
        seed: Of all trials.
        noises: Shares of the trials that have nothing in common with their pair.
    """
    random = Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        evals = Evals(Path(folder), trials)
        return [
            Power(
                noise,
                Counter(evals.verdict(random, FALLEN, noise) for _ in range(pairs // 2)),
                Counter(evals.verdict(random, RATE, noise) for _ in range(pairs - pairs // 2)),
            )
            for noise in noises
        ]


def lines(found: Sequence[Power], trials: int) -> list[str]:
    """Return the table for people."""
    head = (
        f"{trials} trials  fall from {RATE:.0%} to {FALLEN:.0%}: `worse`   no change: a difference"
    )
    rows = (
        f"noise {one.noise:>4.0%}  {one.found:>4} of {one.falls.total():<4}"
        f"{one.false:>28} of {one.others.total()}"
        for one in found
    )
    return [head, *rows]


def _arguments(given: Sequence[str]) -> Namespace:
    parser = ArgumentParser(prog="python -m bench.eval_power", description=__doc__)
    parser.add_argument("--pairs", type=int, default=200, help="pairs of evals (200)")
    parser.add_argument("--trials", type=int, default=100, help="trials of each eval (100)")
    parser.add_argument("--seed", type=int, default=2026, help="of all trials (2026)")
    return parser.parse_args(given)


def main(given: Sequence[str]) -> int:
    """Measure, print the table, and return the exit code."""
    asked = _arguments(given)
    found = measure(asked.pairs, asked.trials, asked.seed)
    print("\n".join(lines(found, asked.trials)))
    kept = all(one.promised for one in found if one.noise <= _PROMISED_NOISE)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
