"""Format the results of replays for people, and hold them for programs."""

from collections.abc import Sequence
from typing import Literal

from coterie.dsl.values import Documented
from coterie.replay.replay import RunReplayed
from coterie.text.lines import one_entry, text_of


class ReplayedRun(Documented):
    """What replaying one run showed."""

    run: str
    team: str = ""
    """The team that was started, if it is known."""
    verdict: Literal["same", "differs", "failed"]
    """`same`: this code can take the run over. `failed`: it could not be replayed."""
    events: int
    """Of its history, over all its links."""
    calls: int
    """Calls of models and tool functions that were compared."""
    sentence: str
    """What was compared, or why it could not be."""
    differences: tuple[str, ...] = ()
    """What this code decides differently, first one first."""
    more: tuple[str, ...] = ()
    """State that this code stores in addition to the version that runs it."""
    has_current_plan: bool | None = None
    """Whether its plan is the one that the project's document compiles to now; None: unknown."""
    at: str = ""
    """When it was replayed, ISO 8601."""


def replayed_run(done: RunReplayed) -> ReplayedRun:
    """Return the result of a replay for programs and pages."""
    if done.problem:
        verdict, sentence = "failed", done.problem
    elif done.differences:
        verdict, sentence = "differs", "this code decides differently"
    else:
        verdict, sentence = "same", _comparison_text(done)
    return ReplayedRun(
        run=done.run,
        verdict=verdict,
        events=done.events,
        calls=done.calls,
        sentence=sentence,
        differences=done.differences,
        more=done.more,
    )


def same_text(done: RunReplayed) -> str:
    """Describe a run that this code decides as recorded."""
    return f"{_size(done)} of {done.run}: {_comparison_text(done)}{_more(done)}"


def differences_text(done: RunReplayed) -> str:
    """Format the differences, one per line, first one first."""
    return text_of(f"  {difference}" for difference in done.differences)


def row(done: RunReplayed) -> str:
    """Format a run on one line, with its first difference."""
    if done.problem:
        return one_entry(f"cannot   {done.run}  {done.problem}")
    if done.differences:
        return one_entry(f"differs  {done.run}  {done.differences[0]}")
    return f"same     {done.run}  {_size(done)}: {_comparison_text(done)}{_more(done)}"


def total(seen: Sequence[RunReplayed]) -> str:
    """Count the runs by result."""
    if not seen:
        return "no open run"
    cannot = sum(bool(result.problem) for result in seen)
    differ = sum(bool(result.differences) for result in seen)
    parts = [f"{len(seen) - cannot - differ} of {_count(len(seen), 'run')} the same"]
    parts += [f"{differ} decided differently"] if differ else []
    parts += [f"{cannot} could not be replayed"] if cannot else []
    return ", ".join(parts)


def _size(result: RunReplayed) -> str:
    events = _count(result.events, "event")
    return events if result.links == 1 else f"{events} in {result.links} links"


def _comparison_text(result: RunReplayed) -> str:
    if result.end is None:
        calls = f"the same {_count(result.calls, 'call')} with the same input; it is still open"
        if result.compared is None:
            return f"{calls}, and no worker reported its decisions"
        decisions = _count(result.compared, "decision")
        return f"{calls}, and its worker reports the same {decisions} (digest {result.digest})"
    facts = result.end.facts
    if "trail_digest" not in facts:
        return f"the same end: {facts.get('message', facts['ended'])}"
    decisions = f"{facts['trail_length']} decisions (digest {facts['trail_digest']})"
    return f"the same calls and the same {decisions}"


def _more(result: RunReplayed) -> str:
    if not result.more:
        return ""
    return f"; this code also stores: {', '.join(result.more)}"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
