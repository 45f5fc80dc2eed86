"""The trail: one function for each kind of entry, which adds the entry with its cause.

Entries of visits, routes, steps, requests and budgets name the location where they happened.
Entries about the whole run name the location of the run's own track.
"""

import json
from collections.abc import Sequence
from datetime import datetime

from pydantic import JsonValue

from coterie.dsl.evaluate.context_writes import ContextWrite, shown_writes
from coterie.dsl.model.causes import RouteCause
from coterie.workflows.core.causes.message_causes import NotificationLost
from coterie.workflows.core.causes.step_causes import StepStated, WhenAsked
from coterie.workflows.core.causes.trail_causes import TrailCause
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state import RunState, TrailRecord
from coterie.workflows.core.state_parts import PendingNotification
from coterie.workflows.core.views import CollectedFiles, TrailKind

_SORTED = json.JSONEncoder(sort_keys=True)

NextTeam = str | tuple[str, ...] | None


def note_visit(scope: Scope, location: Location, cause: RouteCause) -> None:
    """Note the start of a visit."""
    entry = _entry(scope, location, "team", cause, None)
    entry.event = scope.plan.teams[location.team].event
    scope.state.note(entry)


def note_route(
    scope: Scope,
    location: Location,
    cause: TrailCause,
    status: str,
    next_team: NextTeam = None,
    writes: Sequence[ContextWrite] = (),
) -> None:
    """Note the end of a visit or of the run; `writes` are the route's changes of the context."""
    entry = _entry(scope, location, "route", cause, status)
    match next_team:
        case tuple():
            entry.next_team = ", ".join(next_team)
        case _:
            entry.next_team = next_team
    _note_writes(scope, entry, writes)


def _note_writes(scope: Scope, entry: TrailRecord, writes: Sequence[ContextWrite]) -> None:
    """Add the entry; its digest covers what was written."""
    entry.updated = tuple(dict.fromkeys(write.path for write in writes))
    scope.state.note(entry, _SORTED.encode(shown_writes(writes)) if writes else "")


def note_step(
    scope: Scope,
    location: Location,
    status: str,
    cause: TrailCause | None,
    seconds: float | None = None,
    *,
    event: str | None = None,
) -> None:
    """Note an event of a step or a branch."""
    entry = _entry(scope, location, "step", cause, status)
    entry.seconds, entry.event = seconds, event
    scope.state.note(entry)


def note_step_end(
    scope: Scope,
    location: Location,
    status: str,
    cause: TrailCause | None,
    since: float | None,
    tokens: int | None = None,
    found: CollectedFiles | None = None,
    writes: Sequence[ContextWrite] = (),
    event: str | None = None,
    when: WhenAsked | None = None,
) -> None:
    """Note the end of a step; `since` is the Unix time of its start."""
    entry = _entry(scope, location, "step", cause, status)
    entry.event, entry.when = event, when
    entry.seconds = None if since is None else round(entry.at - since, 3)
    entry.tokens = tokens
    entry.found = found
    _note_writes(scope, entry, writes)


def skip_cause(value: JsonValue) -> StepStated:
    """Return why a step was skipped; the value is what a person gave to it, or None."""
    return StepStated("skipped_by_person" if value is None else "skipped_with_value")


def note_request(
    scope: Scope, location: Location, status: str, cause: TrailCause, since: float | None = None
) -> None:
    """Note an event of a request; `since` is the Unix time at which it opened."""
    entry = _entry(scope, location, "approval", cause, status)
    entry.seconds = None if since is None else round(entry.at - since, 3)
    scope.state.note(entry)


def note_budget(
    scope: Scope, location: Location, status: str, cause: TrailCause, next_team: str | None = None
) -> None:
    """Note an event of a budget."""
    entry = _entry(scope, location, "budget", cause, status)
    entry.next_team = next_team
    scope.state.note(entry)


def note_cleanup_failure(scope: Scope, location: Location, cause: TrailCause) -> None:
    """Note that a cleanup team of a cancelled run failed."""
    scope.state.note(_entry(scope, location, "control", cause, "failed"))


def note_control(
    state: RunState,
    now: datetime,
    cause: TrailCause,
    *,
    status: str | None = None,
    updated: tuple[str, ...] = (),
) -> None:
    """Note what a person or a watchdog did to the run; `updated` are context paths."""
    entry = _run_entry(state, now, "control", cause, status)
    entry.updated = updated
    state.note(entry)


def note_refusal(
    state: RunState, now: datetime, cause: TrailCause, status: str | None = None
) -> None:
    """Note that the run refused a message."""
    state.note(_run_entry(state, now, "refused", cause, status))


def note_undelivered(
    state: RunState, at: float, notification: PendingNotification, problem: str
) -> None:
    """Note that a notification reached nobody."""
    message = notification.message
    cause = NotificationLost(
        "notice_failed", message.channel, message.what, message.request, problem
    )
    state.note(
        TrailRecord(
            state.trail_length + 1,
            at,
            "notice",
            notification.team,
            notification.visit,
            notification.step,
            "failure",
            cause,
        )
    )


def _entry(
    scope: Scope, location: Location, kind: TrailKind, cause: TrailCause | None, status: str | None
) -> TrailRecord:
    number, at = scope.state.trail_length + 1, scope.time()
    return TrailRecord(
        number, at, kind, location.team, location.visit, location.path or None, status, cause
    )


def _run_entry(
    state: RunState, now: datetime, kind: TrailKind, cause: TrailCause, status: str | None
) -> TrailRecord:
    main, number = state.main, state.trail_length + 1
    at = now.timestamp()
    return TrailRecord(number, at, kind, main.team or "", main.visit, None, status, cause)
