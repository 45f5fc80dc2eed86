"""Notification moments: people get one notification for each moment of an open request.

The plan alone decides whether to send one, so every replay sends the same. The worker delivers it;
the run waits for deliveries only at its end.
"""

import json

from pydantic import JsonValue

from activities.contracts import Notification, NotificationKind
from dsl.json_values import json_digest
from dsl.model.terms import DecisionTerms, channels
from dsl.visible import shortened_text
from workflows.core.location import Location
from workflows.core.memory import PendingNotification
from workflows.core.requests import Pending
from workflows.core.scope import Scope

_MAX_SHOW_SIZE = 4000
"""Characters of JSON; larger values are shown only where people decide."""
_MAX_SUBJECT_SIZE = 200_000
"""Characters of JSON of a change whose diff the worker makes."""
_FILE = frozenset({"path", "file_path", "file"})
"""Keys of a change of a file, in the input of skills."""
_MAX_PROMPT_LENGTH = 2000


def notify(
    scope: Scope,
    location: Location,
    request: Pending,
    terms: DecisionTerms,
    what: NotificationKind,
    text: str,
    number: int = 1,
) -> bool:
    """Send through each channel that the request, or else the plan, names; False if none is."""
    state = scope.state
    named = scope.plan.notify if terms.notify is None else channels(terms.notify)
    for channel in named:
        state.calls += 1
        name = what if number == 1 else f"{what}{number}"
        # The time distinguishes requests of two successive runs with the same id.
        key = [scope.run_id, request.id, request.since, name, channel]
        message = Notification(
            id=f"msg_{json_digest('', list(key))}",
            channel=channel,
            what=what,
            number=number,
            text=text,
            run=scope.run_id,
            plan=scope.plan.name,
            request=request.id,
            prompt=shortened_text(request.prompt, _MAX_PROMPT_LENGTH),
            show=_small(request.show),
            subject=_large_change(request.show),
            call="" if request.call is None else request.call.name,
            asked_because=shortened_text(request.asked_because, _MAX_PROMPT_LENGTH),
            digest=request.digest,
            approvers=request.approvers,
            quorum=request.quorum,
            since=request.since,
            deadline=request.deadline,
            on_timeout=request.at_deadline,
            labels=state.labels.kinds,
        )
        id = f"{state.calls:04}.{location.team}.{location.name}.{name}"
        scope.notify(
            PendingNotification(message, id, location.team, location.visit, location.path or None)
        )
    return bool(named)


def _large_change(show: JsonValue) -> JsonValue:
    """Return a value that is too large to be sent, if it may be changes of files."""
    size = len(json.dumps(show))
    return show if _MAX_SHOW_SIZE < size <= _MAX_SUBJECT_SIZE and _names_file(show) else None


def _names_file(show: JsonValue) -> bool:
    match show:
        case dict():
            return not _FILE.isdisjoint(show) or any(map(_names_file, show.values()))
        case list():
            return any(map(_names_file, show))
        case _:
            return False


def _small(show: JsonValue) -> JsonValue:
    return show if len(json.dumps(show)) <= _MAX_SHOW_SIZE else None
