"""Bars on one scale of time: what every picture of a run's calls is made of. Pure.

Time in which nothing but waiting happens is drawn short, or a night of waiting for a person would
leave no room for what the run did.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from coterie.text.durations import duration
from coterie.text.problems import counted

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
        return short_waits(self.waits)

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


def short_waits(waits: Iterable[Wait]) -> str:
    """Return the longest waits as text; empty if there is none."""
    lengths = sorted((wait.seconds for wait in waits if wait.seconds >= 1), reverse=True)
    more = f" and {counted(len(lengths) - 6, 'more wait')}" if len(lengths) > 6 else ""
    return ", ".join(map(duration, lengths[:6])) + more


class TimeScale:
    """Maps moments to units: long waits are short, everything else is linear."""

    def __init__(self, began: datetime, ended: datetime, busy: Sequence[tuple[float, float]]):
        self.began = began
        whole = max(_seconds(began, ended), 0.001)
        merged = list(_merge_spans(busy, whole))
        work = sum(end - start for start, end in merged) or whole
        longest = max(work * _SHARE_OF_WAIT, 0.001)
        knots: list[tuple[float, float]] = [(0.0, 0.0)]
        self.breaks: list[tuple[float, float, float]] = []
        at, drawn = 0.0, 0.0
        for start, end in [*merged, (whole, whole)]:
            gap = start - at
            if gap > 0:
                length = min(gap, longest) if merged else gap
                if length < gap:
                    self.breaks.append((drawn, length, gap))
                drawn += length
                knots.append((start, drawn))
            if end > start:
                drawn += end - start
                knots.append((end, drawn))
            at = end
        self._knots = knots
        self._seconds = [seconds for seconds, _ in knots]
        self._whole = drawn or 1.0

    def at(self, moment: datetime) -> float:
        """Return the place of a moment, in units."""
        return round(self.share(moment) * SCALE, 1)

    def share(self, moment: datetime) -> float:
        """Return the place of a moment, from 0 to 1."""
        seconds = max(0.0, _seconds(self.began, moment))
        place = bisect_left(self._seconds, seconds, lo=1)
        if place == len(self._knots):
            return 1.0
        before, knot = self._knots[place - 1], self._knots[place]
        part = (seconds - before[0]) / max(knot[0] - before[0], 1e-9)
        return (before[1] + part * (knot[1] - before[1])) / self._whole

    def waits(self) -> Iterator[Wait]:
        """Yield the waits that are drawn short."""
        for at, length, seconds in self.breaks:
            span = Span(*(round(part / self._whole * SCALE, 1) for part in (at, length)))
            yield Wait(span, seconds)

    @classmethod
    def of(cls, began: datetime, ended: datetime, bars: Iterable[Bar]) -> "TimeScale":
        """Return the scale on which some bars lie."""
        busy = [
            (_seconds(began, bar.began), _seconds(began, bar.ended or ended))
            for bar in bars
            if bar.kind in ("turn", "call")
        ]
        return cls(began, ended, busy)


def draw_bars(began: datetime, ended: datetime, bars: Sequence[Bar]) -> Timeline:
    """Return bars on the scale of what was called in a time.

    Args:
        began: The begin of the scale.
        ended: Its end; of an open run, the time of the view.
        bars: In the order of their rows.
    """
    scale = TimeScale.of(began, ended, bars)
    drawn = tuple(_place_bar(bar, scale, ended) for bar in bars)
    return Timeline(began, _seconds(began, ended), drawn, tuple(scale.waits()))


def _place_bar(bar: Bar, scale: TimeScale, now: datetime) -> DrawnBar:
    at = min(scale.at(bar.began), SCALE - _NARROWEST)
    end = scale.at(bar.ended or now)
    waited = None
    if bar.started is not None and (start := scale.at(bar.started)) - at >= _NARROWEST:
        waited, at = Span(at, start - at), min(start, SCALE - _NARROWEST)
    return DrawnBar(bar, Span(at, max(round(end - at, 1), _NARROWEST)), waited)


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
