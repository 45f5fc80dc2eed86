"""The waterfall of a run: visits, steps, model turns, calls and waits. Pure."""

from collections.abc import Iterable, Iterator, Sequence, Set
from datetime import datetime, timedelta

from coterie.activities.contracts import AgentRequest
from coterie.gateway.timelines.bars import Bar, Timeline, draw_bars
from coterie.replay.trace_events import Visit
from coterie.runs.histories.recorded_calls import RecordedCall
from coterie.runs.progress import END_STATES
from coterie.text.problems import counted
from coterie.workflows.core.causes.people_causes import RequestDecided
from coterie.workflows.core.state_keys import StepKey
from coterie.workflows.core.views import TrailEntry


def timeline_of(
    began: datetime,
    ended: datetime,
    visits: Iterable[Visit],
    calls: Sequence[RecordedCall],
) -> Timeline:
    """Return the waterfall of a run.

    Args:
        began: Of the run.
        ended: Its end; of an open run, the time of the view.
        visits: With their events.
        calls: All calls.
    """
    of_visit: dict[tuple[str, int], list[RecordedCall]] = {}
    for call in calls:
        of_visit.setdefault((StepKey(call.path).team, call.visit), []).append(call)
    bars = [
        bar
        for visit in visits
        for bar in _bars_of_visit(visit, of_visit.get((visit.team, visit.visit), []))
    ]
    return draw_bars(began, ended, bars)


def _bars_of_visit(visit: Visit, calls: Sequence[RecordedCall]) -> Iterator[Bar]:
    if not visit.visit or visit.began is None:
        return
    began = datetime.fromisoformat(visit.began)
    ended = None if visit.ended is None else datetime.fromisoformat(visit.ended)
    failed = visit.status not in (None, "success", "left")
    yield Bar("visit", visit.name, 0, began, ended, failed=failed, note=visit.because)
    inner = [_bar_of_call(call) for call in calls]
    shown = {StepKey(call.path).path for call in calls}
    entries = [event.entry for event in visit.happened]
    shown |= {e.step or "" for e in entries if isinstance(e.cause, RequestDecided)}
    inner += (bar for entry in entries for bar in _bars_of_entry(entry, shown))
    yield from sorted(inner, key=lambda bar: (bar.began, bar.depth))


def _bar_of_call(call: RecordedCall) -> Bar:
    path = StepKey(call.path).path
    label, kind = path, "call"
    if isinstance(call.request, AgentRequest):
        kind = "turn"
        label = f"{path}, turn {call.suffix.turn}" if call.suffix.turn else path
        label += ", compaction" if call.request.compaction is not None else ""
    note = call.error
    if call.attempts > 1:
        why = f": {call.earlier_error}" if call.earlier_error else ""
        note = f"{counted(call.attempts, 'attempt')}{why}"
    began = call.scheduled
    if call.is_local and call.ended is not None:
        began = call.ended - timedelta(seconds=call.seconds)
    failed = call.end in ("failed", "timed out")
    depth = 1 + path.count("/")
    started = call.started if call.waited >= 0.1 else None
    return Bar("turn" if kind == "turn" else "call", label, depth, began, call.ended, started,
               failed=failed, note=note)  # fmt: skip


def _bars_of_entry(entry: TrailEntry, shown: Set[str]) -> Iterator[Bar]:
    """Yield the bar of a step that was no call, or of a person's decision."""
    if entry.seconds is None or entry.step is None:
        return
    ended = datetime.fromisoformat(entry.at)
    began = ended - timedelta(seconds=entry.seconds)
    depth = 1 + entry.step.count("/")
    if entry.kind == "approval" and isinstance(entry.cause, RequestDecided):
        rejected = entry.status == "rejected"
        yield Bar("person", f"decision on {entry.step}", depth, began, ended, failed=rejected,
                  note=entry.because)  # fmt: skip
    elif entry.kind == "step" and entry.status in END_STATES and entry.seconds >= 0.05:
        if entry.step in shown:
            return
        failed = END_STATES[entry.status] == "failure"
        yield Bar("step", entry.step, depth, began, ended, failed=failed, note=entry.because)
