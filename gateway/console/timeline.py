"""The waterfall of a run: visits, steps, model turns, calls and waits on one scale of time.

Pure. Time in which nothing but waiting happens is drawn short, or a night of waiting for a person
would leave no room for what the run did.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from coterie.activities.contracts import AgentRequest
from coterie.replay.trace_events import Visit
from coterie.runs.histories.recorded_calls import RecordedCall
from coterie.runs.progress import END_STATES
from coterie.text.durations import duration
from coterie.text.problems import counted
from coterie.workflows.core.causes.people_causes import RequestDecided
from coterie.workflows.core.state_keys import StepKey
from coterie.workflows.core.views import TrailEntry

BarKind = Literal["visit", "step", "turn", "call", "person"]
SCALE = 1000
"""Units of a whole bar."""
_SHARE_OF_WAIT = 0.12
"""Of all work: what one long wait is drawn as at most."""
_NARROWEST = 3.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of the waterfall."""

    kind: BarKind
    label: str
    depth: int
    began: datetime
    ended: datetime | None
    """None while it is in progress."""
    started: datetime | None = None
    """Of a call: the start of its last attempt."""
    failed: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the scale, in units."""

    at: float
    length: float


@dataclass(frozen=True, slots=True)
class DrawnBar:
    """A row, and where it lies on the scale."""

    bar: Bar
    span: Span
    waited: Span | None = None
    """Before the last attempt: queues, and the intervals of retries."""

    @property
    def offset(self) -> float:
        """Seconds from the begin to the end; 0 while in progress."""
        return 0.0 if self.bar.ended is None else _seconds(self.bar.began, self.bar.ended)


@dataclass(frozen=True, slots=True)
class Wait:
    """A long wait that is drawn short."""

    span: Span
    seconds: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """The whole waterfall."""

    began: datetime
    seconds: float
    """From the begin to the end, or to now."""
    bars: tuple[DrawnBar, ...]
    waits: tuple[Wait, ...]

    @property
    def short(self) -> str:
        """The longest waits that are drawn short, as text; empty if there is none."""
        lengths = sorted((wait.seconds for wait in self.waits if wait.seconds >= 1), reverse=True)
        more = f" and {counted(len(lengths) - 6, 'more wait')}" if len(lengths) > 6 else ""
        return ", ".join(map(duration, lengths[:6])) + more

    def paths(self) -> Iterator[tuple[str, str]]:
        """Yield all bars as one path per kind: `(class, data)`, for an overview of any length."""
        high = max(len(self.bars), 1)
        data: dict[str, list[str]] = {}
        for row, drawn in enumerate(self.bars):
            css = "failed" if drawn.bar.failed else drawn.bar.kind
            y = (row + 0.5) * 100 / high
            data.setdefault(css, []).append(f"M{drawn.span.at:g},{y:.2f}h{drawn.span.length:g}")
        for css, parts in data.items():
            yield css, "".join(parts)


class _Scale:
    """Maps moments to units: long waits are short, everything else is linear."""

    def __init__(self, began: datetime, ended: datetime, busy: Sequence[tuple[float, float]]):
        self.began = began
        whole = max(_seconds(began, ended), 0.001)
        merged = list(_merge_spans(busy, whole))
        work = sum(end - start for start, end in merged) or whole
        longest = max(work * _SHARE_OF_WAIT, 0.001)
        self._knots: list[tuple[float, float]] = [(0.0, 0.0)]
        self.breaks: list[tuple[float, float, float]] = []
        at, drawn = 0.0, 0.0
        for start, end in [*merged, (whole, whole)]:
            gap = start - at
            if gap > 0:
                length = min(gap, longest) if merged else gap
                if length < gap:
                    self.breaks.append((drawn, length, gap))
                drawn += length
                self._knots.append((start, drawn))
            if end > start:
                drawn += end - start
                self._knots.append((end, drawn))
            at = end
        self._whole = drawn or 1.0

    def at(self, moment: datetime) -> float:
        """Return the place of a moment, in units."""
        seconds = max(0.0, _seconds(self.began, moment))
        before = self._knots[0]
        for knot in self._knots[1:]:
            if seconds <= knot[0]:
                share = (seconds - before[0]) / max(knot[0] - before[0], 1e-9)
                return self._units(before[1] + share * (knot[1] - before[1]))
            before = knot
        return float(SCALE)

    def waits(self) -> Iterator[Wait]:
        """Yield the waits that are drawn short."""
        for at, length, seconds in self.breaks:
            yield Wait(Span(self._units(at), self._units(length)), seconds)

    def _units(self, drawn: float) -> float:
        return round(drawn / self._whole * SCALE, 1)


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
    busy = [
        (_seconds(began, bar.began), _seconds(began, bar.ended or ended))
        for bar in bars
        if bar.kind in ("turn", "call")
    ]
    scale = _Scale(began, ended, busy)
    drawn = tuple(_place_bar(bar, scale, ended) for bar in bars)
    return Timeline(began, _seconds(began, ended), drawn, tuple(scale.waits()))


def _place_bar(bar: Bar, scale: _Scale, now: datetime) -> DrawnBar:
    at = min(scale.at(bar.began), SCALE - _NARROWEST)
    end = scale.at(bar.ended or now)
    waited = None
    if bar.started is not None and (start := scale.at(bar.started)) - at >= _NARROWEST:
        waited, at = Span(at, start - at), min(start, SCALE - _NARROWEST)
    return DrawnBar(bar, Span(at, max(round(end - at, 1), _NARROWEST)), waited)


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


def _merge_spans(
    spans: Iterable[tuple[float, float]], whole: float
) -> Iterator[tuple[float, float]]:
    """Yield the times in which at least one span lies, in order."""
    current: tuple[float, float] | None = None
    for start, end in sorted((max(0.0, start), min(end, whole)) for start, end in spans):
        if current is None or start > current[1]:
            if current is not None:
                yield current
            current = (start, end)
        else:
            current = (current[0], max(current[1], end))
    if current is not None:
        yield current


def _seconds(before: datetime, after: datetime) -> float:
    return (after - before).total_seconds()
