"""The score of a sample by room, and every survivor with its change."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

from tests.mutants.mutations import Mutant
from tests.mutants.trial import Verdict

REQUIRED = 0.95


class Equivalent(BaseModel):
    """A mutant that behaves like the original, and the reason."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    kind: str
    before: str
    after: str
    because: str


@dataclass(frozen=True)
class Tried:
    """A mutant with its verdict."""

    mutant: Mutant
    verdict: Verdict


def read_equivalents(path: Path) -> tuple[Equivalent, ...]:
    """Read the list of mutants that nobody can tell from the original."""
    return TypeAdapter(tuple[Equivalent, ...]).validate_python(yaml.safe_load(path.read_text()))


def equivalence(mutant: Mutant, known: Sequence[Equivalent]) -> str | None:
    """Why a mutant is equivalent, or None. Line numbers do not count: they move."""
    for entry in known:
        same = (entry.path, entry.kind, entry.before, entry.after) == (
            str(mutant.path),
            mutant.kind,
            _one_line(mutant.before),
            _one_line(mutant.after),
        )
        if same:
            return entry.because
    return None


def score(tried: Sequence[Tried], known: Sequence[Equivalent]) -> tuple[int, int]:
    """Killed mutants, and mutants that count: all but the equivalent ones."""
    killed = sum(each.verdict is Verdict.KILLED for each in tried)
    counted = [
        each
        for each in tried
        if each.verdict is Verdict.KILLED or equivalence(each.mutant, known) is None
    ]
    return killed, len(counted)


def lines(
    rooms: Sequence[tuple[str, Sequence[Tried]]], known: Sequence[Equivalent]
) -> Iterator[str]:
    """The report, a line each."""
    everything = [each for _, tried in rooms for each in tried]
    for name, tried in [*rooms, ("all", everything)]:
        killed, counted = score(tried, known)
        share = 100 * killed / counted if counted else 100.0
        yield f"{name:<12}{killed:>4} of {counted:>4} killed  {share:5.1f} %"
    for each in everything:
        if each.verdict is Verdict.SURVIVED:
            because = equivalence(each.mutant, known)
            mark = f"equivalent, {because}" if because else "survived"
            yield f"{mark}: {each.mutant.described()}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
