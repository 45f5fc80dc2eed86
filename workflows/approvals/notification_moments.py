"""Notification moments: people get one notification for each moment of an open request.

The plan alone decides whether to send one, so every replay sends the same. The worker delivers it;
the run waits for deliveries only at its end.
"""

import json

from pydantic import JsonValue

from coterie.activities.contracts import Notification, NotificationKind
from coterie.dsl.json_values import json_digest
from coterie.dsl.model.terms import DecisionTerms, channels
from coterie.dsl.visible import shortened_text
from coterie.workflows.approvals.changed_files import names_file
from coterie.workflows.core.location import Location
from coterie.workflows.core.memory import PendingNotification
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.scope import Scope

_MAX_SHOW_SIZE = 4000
"""Characters of JSON; larger values are shown only where people decide."""
_MAX_SUBJECT_SIZE = 200_000
"""Characters of JSON of a change whose diff the worker makes."""
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
            subject=_subject(request),
            call=request.changing_call,
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


def _subject(request: Pending) -> JsonValue:
    """Return the input of the call that is not sent as it is, if it may be changes of files."""
    given = request.given
    size = len(json.dumps(given))
    is_sent = given is request.show and size <= _MAX_SHOW_SIZE
    return given if not is_sent and size <= _MAX_SUBJECT_SIZE and names_file(given) else None


def _small(show: JsonValue) -> JsonValue:
    return show if len(json.dumps(show)) <= _MAX_SHOW_SIZE else None
