"""The labels that a run has met, and the calls that brought them."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import get_args

from coterie.dsl.model.capabilities import KeptLabel, Label

KEPT: tuple[KeptLabel, ...] = get_args(KeptLabel)
"""The labels that a run keeps once it has met them."""


@dataclass(frozen=True, slots=True)
class MetLabel:
    """A label that a call brought."""

    label: KeptLabel
    tool: str
    """The tool, or the tool function of a step."""
    step: str
    """`team/path` of the call."""
    number: int = 0
    """From 1, in the order in which the run met them."""


@dataclass(slots=True)
class MetLabels:
    """All that a run has met: one entry for each label and tool."""

    met: list[MetLabel] = field(default_factory=list[MetLabel])
    count: int = 0
    """The number of the latest entry; it never decreases."""

    @property
    def kinds(self) -> tuple[KeptLabel, ...]:
        """Which labels there are."""
        met = {entry.label for entry in self.met}
        return tuple(label for label in KEPT if label in met)

    def meet(
        self, labels: Iterable[Label], tool: str, step: str, cleared: int
    ) -> tuple[MetLabel, ...]:
        """Keep what a call brought; return what is new.

        Args:
            labels: of the tool.
            tool: its name.
            step: `team/path` of the call.
            cleared: the latest number that any approval covers: older entries count as new.
        """
        brought = set(labels)
        known_labels = {
            entry.label for entry in self.met if entry.tool == tool and entry.number > cleared
        }
        new: list[MetLabel] = []
        for label in KEPT:
            if label in brought and label not in known_labels:
                self.count += 1
                new.append(MetLabel(label, tool, step, self.count))
        if new:
            again = {entry.label for entry in new}
            self.met = [
                entry for entry in self.met if entry.tool != tool or entry.label not in again
            ]
            self.met.extend(new)
        return tuple(new)

    def since(self, cleared: int) -> tuple[MetLabel, ...]:
        """Return what was met after the entry with this number."""
        return tuple(entry for entry in self.met if entry.number > cleared)

    def clear(self) -> None:
        """Forget all: a person has seen what was met."""
        self.met = []


def without_numbers(sources: Iterable[MetLabel]) -> tuple[MetLabel, ...]:
    """Return the sources for people: the number only says what an approval covers."""
    return tuple(replace(source, number=0) for source in sources)
