"""Short names of steps in a test file: any end of `team/path` that only one step has."""

from collections.abc import Collection
from difflib import SequenceMatcher

from coterie.dsl.model.traversal.step_paths import split_reference, without_numbers, without_rounds
from coterie.dsl.tool_loop.call_names import without_calls
from coterie.workflows.core.state_keys import FAILED

MAX_SHOWN = 3
"""Names that a problem suggests."""


class StepNames:
    """The full names of steps."""

    def __init__(self, known: Collection[str]) -> None:
        """Take the full names.

        Args:
            known: `team/path` of each step, or its path below the team.
        """
        self.known = frozenset(known)

    def candidates(self, written: str) -> list[str]:
        """Return the full names that a written one can mean; only itself if it is one."""
        base = base_of(written)
        if base in self.known:
            return [base]
        return sorted(name for name in self.known if name.endswith(f"/{base}"))

    def full(self, written: str) -> str:
        """Return the full form of a name, with its `#2`; the name as written if that is unclear."""
        matches = self.candidates(written)
        if len(matches) != 1:
            return written
        (name,) = matches
        return name[: len(name) - len(base_of(written))] + written


def base_of(written: str) -> str:
    """Return the step of a reference, without visit, rounds, turn and the mark of a failed task."""
    return without_numbers(without_calls(split_reference(written)[0].removesuffix(f"/{FAILED}")))


def written_forms(step: str) -> tuple[str, ...]:
    """Return the names by which a test may mean a step of a run, the most specific first.

    A name without a round, or without the place of a model's call, stands for all of them.
    """
    calls = without_calls(step)
    return tuple(dict.fromkeys((step, without_rounds(step), calls, without_rounds(calls))))


def nearest_names(written: str, known: Collection[str]) -> list[str]:
    """Return the known names with the nearest spelling, the nearest first, also by their ends."""

    def likeness(name: str) -> float:
        whole = SequenceMatcher(None, written, name).ratio()
        end = SequenceMatcher(None, written.rpartition("/")[2], name.rpartition("/")[2]).ratio()
        return max(whole, end * 0.95)

    return sorted(known, key=lambda name: (-likeness(name), name))[:MAX_SHOWN]
