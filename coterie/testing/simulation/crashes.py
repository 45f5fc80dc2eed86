"""Schedule worker crashes: after a step, or while one is in progress."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from coterie.dsl.model.traversal.step_paths import split_reference
from coterie.testing.files.case_document import CaseDocument
from coterie.testing.files.short_names import written_forms
from coterie.workflows.core.views import TrailEntry

_ENDED = ("success", "failure")


@dataclass(frozen=True, slots=True)
class Crash:
    """One scheduled crash."""

    step: str
    """`team/path`."""
    execution: int
    """Which of the step's executions in the run, from 1."""
    after: bool
    """After the step's end; otherwise while it is in progress, before its call starts."""

    def is_due(self, trail: Sequence[TrailEntry], doing: Collection[str]) -> bool:
        """Return whether it is time to crash.

        Args:
            trail: The run's trail so far.
            doing: Steps in progress.
        """
        ended = self._count_ends(trail)
        if self.after:
            return ended >= self.execution
        inside = any(self.step in written_forms(name) for name in doing)
        return ended == self.execution - 1 and inside

    def missed(self, trail: Sequence[TrailEntry]) -> str:
        """Explain why it never happened.

        Args:
            trail: The run's whole trail.
        """
        time = "" if self.execution == 1 else f" for the {self.execution}. time"
        came = self._count_ends(trail) >= self.execution
        if came and self.after:
            return (
                f"the run ended before the worker could be killed after {self.step}{time}; "
                "nothing that it did after that waits"
            )
        if came:
            return f"the worker was never killed: {self.step} ended{time} without any wait or call"
        what = f"{self.step} did not end" if self.after else f"{self.step} was not in progress"
        return f"the worker was never killed: {what}{time}"

    def _count_ends(self, trail: Sequence[TrailEntry]) -> int:
        return sum(_is_end(entry, self.step) for entry in trail)


def crashes(case: CaseDocument) -> list[Crash]:
    """Return the crashes of a case; each happens once, in any order."""
    case_crashes: list[Crash] = []
    for named, after in ((case.crash_after, True), (case.crash_during, False)):
        for reference in (named,) if isinstance(named, str) else named:
            step, execution = split_reference(reference)
            case_crashes.append(Crash(step, execution or 1, after))
    return case_crashes


def _is_end(entry: TrailEntry, step: str) -> bool:
    forms = written_forms(f"{entry.team}/{entry.step}")
    return entry.kind == "step" and entry.status in _ENDED and step in forms
