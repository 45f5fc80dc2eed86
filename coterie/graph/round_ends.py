"""How the rounds of concurrent loops ended, step by step, for the picture of a run."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from coterie.dsl.tool_loop.call_names import calls_in
from coterie.graph.tasks import TaskLine
from coterie.text.round_counts import rounds_of
from coterie.workflows.core.state_keys import StepKey
from coterie.workflows.core.views import RoundsView, TrailEntry

ROUND = re.compile(r"/\d+(?=/)")
"""The number of a round in the path of a step, if rounds are concurrent."""
_ENDS = {"success": "succeeded", "failure": "failed", "skipped": "skipped"}


@dataclass(slots=True)
class RoundEnds:
    """The latest ends of one team's steps in rounds: `{path in the picture: {path: status}}`."""

    ends: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])

    def note(self, entry: TrailEntry, path: str) -> None:
        """Keep how a step ended in one round."""
        step = entry.step or ""
        if entry.status in _ENDS and ROUND.search(step) and not calls_in(step):
            self.ends.setdefault(path, {})[step] = entry.status

    def is_partial(self, path: str) -> bool:
        """Return whether some rounds of a step, or of a step within it, failed."""
        return any(
            "failure" in ends.values()
            for of, ends in self.ends.items()
            if of == path or of.startswith(f"{path}/")
        )

    def detail(self, path: str) -> tuple[str, ...]:
        """Return the counts by state: `11 succeeded, 1 failed`."""
        counts = Counter(self.ends.get(path, {}).values())
        words = [f"{counts[status]} {word}" for status, word in _ENDS.items() if counts[status]]
        return (", ".join(words),) if words else ()


def with_rounds(
    tasks: Sequence[TaskLine], team: str, ends: RoundEnds | None, loops: Sequence[RoundsView]
) -> tuple[TaskLine, ...]:
    """Add to the lines of a team how many rounds have which state."""
    known = ends or RoundEnds()
    counted: Mapping[str, str] = {
        ROUND.sub("", StepKey(loop.step).path): rounds_of(loop)
        for loop in loops
        if StepKey(loop.step).team == team
    }
    return tuple(
        replace(
            task,
            detail=(
                *((counted[task.path],) if task.path in counted else ()),
                *known.detail(task.path),
                *task.detail,
            ),
        )
        for task in tasks
    )
