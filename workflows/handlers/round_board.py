"""Concurrent loops in progress, for the query `status` and the live board."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice

from coterie.dsl.markdown import code
from coterie.workflows.core.progress.progress_kinds import ConcurrentLoopProgress
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import StateKey, StepKey
from coterie.workflows.core.views import RoundsView

_MAX_LOOPS = 10


def round_views(state: RunState) -> tuple[RoundsView, ...]:
    """Return how many rounds of each concurrent loop have which state."""
    loops = islice(state.progress.concurrent_loops.items(), _MAX_LOOPS)
    return tuple(_view(StateKey(key).step, progress, state) for key, progress in loops)


def _view(step: StepKey, progress: ConcurrentLoopProgress, state: RunState) -> RoundsView:
    counts = Counter[str](outcome.status for outcome in progress.ended.values())
    waiting, running = _open_rounds(step, state)
    counts["waiting"], counts["running"] = waiting, running
    counts["pending"] = progress.rounds - counts.total()
    return RoundsView(
        step=step, rounds=progress.rounds, counts={of: n for of, n in counts.items() if n > 0}
    )


def _open_rounds(step: StepKey, state: RunState) -> tuple[int, int]:
    """Return how many rounds wait for a person, and how many others are in progress."""
    waiting = _numbers(step, state.pending)
    return len(waiting), len(_numbers(step, state.doing) - waiting)


def _numbers(step: StepKey, keys: Iterable[str]) -> set[str]:
    """Return the numbers of the rounds that the keys belong to."""
    start = len(step) + 1
    return {key[start:].partition("/")[0] for key in keys if step.holds(key)}


def round_lines(state: RunState) -> str:
    """Return a line of Markdown for each concurrent loop."""
    lines: list[str] = []
    for key, progress in islice(state.progress.concurrent_loops.items(), _MAX_LOOPS):
        step = StateKey(key).step
        waiting, running = _open_rounds(step, state)
        waits = f", {waiting} waiting for a person" if waiting else ""
        lines.append(
            f"- rounds of {code(step)}: {len(progress.ended)} of {progress.rounds} ended, "
            f"{running} running{waits}\n"
        )
    return "".join(lines)
