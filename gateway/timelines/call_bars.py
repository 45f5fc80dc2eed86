"""Fold the events of a run into bars: one for each call, and for each message of a person. Pure.

The fold keeps bars and no events, so a run of any length can be kept while it grows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter

from coterie.gateway.streams import run_events as events
from coterie.gateway.streams.cursors import Cursor
from coterie.gateway.timelines.bars import Bar, BarKind
from coterie.text.problems import counted

_KINDS: dict[events.CallKind, BarKind] = {"turn": "turn", "skill": "call", "other": "step"}
_MAX_NOTE = 200
_MIN_WAIT = timedelta(seconds=0.1)
_MAX_BARS = 100_000
"""Of one run; the oldest ones make room."""


class CallFold:
    """The bars of the events so far."""

    def __init__(self) -> None:
        self.left_out = 0
        """Bars that made room."""
        self._ended: list[Bar] = []
        self._open: dict[tuple[str, int], Bar] = {}
        """`{(run id of the history, event that scheduled the call): its bar}`."""

    @property
    def ended(self) -> Sequence[Bar]:
        """The bars of calls that have ended, in the order of their ends."""
        return self._ended

    @property
    def bars(self) -> list[Bar]:
        """All bars, in the order of their starts."""
        return sorted((*self._ended, *self._open.values()), key=attrgetter("began"))

    def take(self, taken: Iterable[events.RunEvent]) -> None:
        """Take the next events."""
        for event in taken:
            self._take(event)
        if len(self._ended) > _MAX_BARS:
            self.left_out += len(self._ended) - _MAX_BARS
            del self._ended[:-_MAX_BARS]

    def _take(self, event: events.RunEvent) -> None:
        at = datetime.fromisoformat(event.at)
        match event:
            case events.CallScheduledEvent():
                bar = Bar(_KINDS[event.kind], _label(event), 0, at, None)
                self._open[_key(event, event.event)] = bar
            case events.CallStartedEvent():
                self._start(event, at)
            case events.CallLeftEvent():
                key = _key(event, event.scheduled)
                if key in self._open:
                    self._open[key] = replace(self._open[key], note="the run left it")
            case events.CallEndedEvent():
                self._end(event, at)
            case events.MessageReceivedEvent():
                label = f"{event.name} by {event.by}" if event.by else event.name
                self._ended.append(Bar("person", label, 0, at, at))
            case events.ContinuedEvent() | events.ClosedEvent() | events.ResetEvent():
                for bar in self._open.values():  # no call outlives its history
                    self._ended.append(replace(bar, ended=at))
                self._open.clear()
            case _:
                pass

    def _start(self, event: events.CallStartedEvent, at: datetime) -> None:
        bar = self._open.get(_key(event, event.scheduled))
        if bar is None:
            return
        started = at if at - bar.began >= _MIN_WAIT else None
        note = ""
        if event.attempt > 1:
            why = f": {event.error}" if event.error else ""
            note = f"{counted(event.attempt, 'attempt')}{why}"[:_MAX_NOTE]
        self._open[_key(event, event.scheduled)] = replace(bar, started=started, note=note)

    def _end(self, event: events.CallEndedEvent, at: datetime) -> None:
        bar = None
        if event.scheduled is not None:
            bar = self._open.pop(_key(event, event.scheduled), None)
        if bar is None:  # a local activity, or it was scheduled before the first event here
            began = at - timedelta(seconds=event.took or 0)
            bar = Bar(_KINDS[event.kind], _label(event), 0, began, None)
        failed = event.end in ("failed", "timed out")
        note = bar.note or event.error[:_MAX_NOTE]
        self._ended.append(replace(bar, ended=at, failed=failed, note=note))


def _label(event: events.CallEventBase) -> str:
    return event.step or event.call or "a call"


def _key(event: events.RunEventBase, scheduled: int) -> tuple[str, int]:
    return Cursor.parse(event.cursor).run, scheduled
