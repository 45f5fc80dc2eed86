"""Samples and figures, as tables for people and as rows for programs."""

import json
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.interpreter import Figure
from bench.measuring import Sample
from bench.systems import COTERIE, HANDWRITTEN, System
from coterie.dsl.values import Json

Measure = Callable[[Sample], float]


class Ratio(NamedTuple):
    """How much of something one system took of what another did, over pairs of runs."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, ours: Iterable[float], theirs: Iterable[float]) -> "Ratio":
        """Of pairs that ran next to each other, so that both met the same machine."""
        ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
        return cls(statistics.median(ratios), min(ratios), max(ratios))

    def __str__(self) -> str:
        return f"{self.median:.3f} [{self.least:.2f} {self.most:.2f}]"


MEASURES: dict[str, Measure] = {
    "events_per_step": lambda sample: sample.events / sample.n,
    "bytes_per_step": lambda sample: sample.bytes / sample.n,
    "worker_cpu_ms_per_step": lambda sample: sample.cpu_seconds / sample.steps * 1000,
    "wall_ms_per_step": lambda sample: sample.wall_seconds / sample.steps * 1000,
}
"""What a whole run took, divided by its steps."""


class Report:
    """Everything that was measured."""

    def __init__(
        self,
        systems: Sequence[System],
        samples: Sequence[Sample],
        figures: Sequence[Figure],
        validated: Sequence[Figure],
    ) -> None:
        self._systems = systems
        self._samples = samples
        self._figures = figures
        self._validated = validated
        self._lengths = sorted({sample.n for sample in samples})

    def text(self) -> str:
        """The tables."""
        return "\n".join([*self._loop_table(), "", *self._growth_table(), "", *self._own_table()])

    def rows(self) -> Iterator[Json]:
        """One for each case, system and length."""
        for n in self._lengths:
            for system in self._systems:
                row: Json = {"system": system.name, "case": "loop", "n": n}
                row.update(
                    {
                        name: round(self._median(system, n, measure), 4)
                        for name, measure in MEASURES.items()
                    }
                )
                yield row
        for system in self._systems:
            yield {"system": system.name, "case": "loop-growth", **self._growth(system)}
        for figure in self._figures:
            yield {
                "system": COTERIE.name,
                "case": figure.case,
                "n": figure.n,
                "worker_cpu_ms_per_step": round(figure.microseconds / 1000, 6),
            }
        for figure in self._validated:
            yield {
                "system": COTERIE.name,
                "case": figure.case,
                "n": figure.n,
                "cpu_ms": round(figure.microseconds / 1000, 1),
            }

    def _of(self, system: System, n: int) -> list[Sample]:
        return [one for one in self._samples if one.system == system.name and one.n == n]

    def _median(self, system: System, n: int, measure: Measure) -> float:
        return statistics.median(map(measure, self._of(system, n)))

    def _ratio(self, system: System, n: int, measure: Measure) -> str:
        """To the hand-written one: the median of the pairs, and how far the pairs lie apart."""
        return str(
            Ratio.of(map(measure, self._of(system, n)), map(measure, self._of(HANDWRITTEN, n)))
        )

    def _growth(self, system: System) -> Json:
        """What each further step adds, and what a run has once: from the two shortest lengths.

        Longer runs continue as new, and then every run of the chain has these once.
        """
        short, longer = self._lengths[0], self._lengths[min(1, len(self._lengths) - 1)]
        row: Json = {"n": longer}
        for name, count in (("events", _events), ("bytes", _bytes)):
            few, many = (self._median(system, n, count) for n in (short, longer))
            added = (many - few) / (longer - short) if longer > short else few / short
            row[f"{name}_per_step"] = round(added, 2)
            row[f"{name}_per_run"] = round(few - added * short, 1)
        return row

    def _loop_table(self) -> Iterator[str]:
        yield "Whole runs, divided by their steps; ratio to handwritten: median [least most]"
        yield f"{'n':>5}  {'system':20}" + "".join(f"{name:>28}" for name in MEASURES)
        for n in self._lengths:
            for system in self._systems:
                yield f"{n:5}  {system.name:20}" + "".join(
                    f"{self._median(system, n, measure):9.2f} {self._ratio(system, n, measure):>18}"
                    for measure in MEASURES.values()
                )

    def _growth_table(self) -> Iterator[str]:
        names = ("events_per_step", "bytes_per_step", "events_per_run", "bytes_per_run")
        yield "What a further step adds to a history, and what a run has once"
        yield f"{'system':20}" + "".join(f"{name:>17}" for name in names)
        for system in self._systems:
            row = self._growth(system)
            yield f"{system.name:20}" + "".join(f"{row[name]:>17}" for name in names)

    def _own_table(self) -> Iterator[str]:
        yield "Coterie without Temporal: microseconds of CPU (compile: per plan, else per step)"
        for figure in self._figures:
            keys = f"{figure.n} keys" if figure.n else ""
            yield f"{figure.case:20}{keys:>14}{figure.microseconds:>14.1f}"
        process, checks = (figure.microseconds / 1000 for figure in self._validated)
        yield (
            f"\n`coterie validate` on {self._validated[0].n} lines: {process:.0f} ms of CPU, the "
            f"whole process; {checks:.0f} ms to compile and check in a process"
        )


def write_rows(file: Path, rows: Sequence[Json]) -> None:
    """The rows as JSON; those of cases that were not measured now stay as they are."""
    measured = {str(row["case"]) for row in rows}
    before: list[Json] = json.loads(file.read_text()) if file.exists() else []
    kept = [row for row in before if str(row["case"]) not in measured]
    file.write_text(json.dumps([*kept, *rows], indent=1) + "\n", encoding="utf-8")


def _events(sample: Sample) -> float:
    return sample.events


def _bytes(sample: Sample) -> float:
    return sample.bytes
