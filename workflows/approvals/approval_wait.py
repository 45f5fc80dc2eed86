"""Approval wait: waits for a person, with reminders, escalations and a deadline.

People get one notification for each moment of an open request. The plan alone decides whether to
send one, so every replay sends the same.
"""

import json
from datetime import datetime, timedelta
from functools import partial
from typing import Literal, NamedTuple

from pydantic import JsonValue

from coterie.activities.contracts import Notification, NotificationKind
from coterie.dsl.egress.met_labels import MetLabel
from coterie.dsl.json_values import json_digest
from coterie.dsl.model.causes import NotDecided
from coterie.dsl.model.decision_terms import ApprovalTerms, DecisionTerms, channels
from coterie.dsl.model.template_bound import optional_seconds, seconds_of
from coterie.dsl.model.traversal.approvers import people
from coterie.dsl.person_names import each_once
from coterie.dsl.sizes import MAX_SHOWN, check_size
from coterie.dsl.visible import shortened_text
from coterie.workflows.approvals.decisions import approvable, record
from coterie.workflows.control.push_states import push_state
from coterie.workflows.core.causes.people_causes import (
    ApprovalAsked,
    RequestDecided,
    RequestEscalated,
    RequestReminded,
)
from coterie.workflows.core.causes.trail_because import asked_because, trail_because
from coterie.workflows.core.causes.trail_causes import TrailCause, shortened
from coterie.workflows.core.location import Location, Redirected, Skipped
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import (
    Decision,
    Pending,
    PlannedCall,
    origin_digest,
    request_digest,
)
from coterie.workflows.core.scope import Scope, on_abort
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import PendingNotification
from coterie.workflows.core.trail import note_request

_FILE = frozenset({"path", "file_path", "file", "paths"})
"""Keys of a change of files, in the input of tool functions."""


def names_file(value: JsonValue) -> bool:
    """Return whether a value, or a part of it, names a file."""
    match value:
        case dict():
            return not _FILE.isdisjoint(value) or any(map(names_file, value.values()))
        case list():
            return any(map(names_file, value))
        case _:
            return False


def with_input(call: PlannedCall, given: JsonValue) -> PlannedCall:
    """Return a call with its input, which the request does not show, if it may change files."""
    return call.model_copy(update={"input": given}) if names_file(given) else call


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
    subject = request.given
    size = len(json.dumps(subject))
    is_sent = subject is request.show and size <= _MAX_SHOW_SIZE
    return subject if not is_sent and size <= _MAX_SUBJECT_SIZE and names_file(subject) else None


def _small(show: JsonValue) -> JsonValue:
    return show if len(json.dumps(show)) <= _MAX_SHOW_SIZE else None


_MAX_BECAUSE_LENGTH = 2_000
PLAIN = DecisionTerms()
"""Anyone decides, without a deadline."""


class _Due(NamedTuple):
    """The next event while nobody decides."""

    seconds: float
    """After the request opened, pauses not counted."""
    what: Literal["escalate", "remind", "deadline"]


class PersonRequest(NamedTuple):
    """What a step asks people."""

    prompt: str
    """The question."""
    show: JsonValue = None
    """The value that they look at."""
    terms: DecisionTerms = PLAIN
    """Who decides, and until when."""
    choices: tuple[str, ...] = ()
    """The decisions allowed about a failed task; empty for an approval."""
    tool: str | None = None
    """The tool whose call the request is about."""
    call: PlannedCall | None = None
    """The call that would run, if it may change something, or sends data out."""
    asked: ApprovalAsked | None = None
    """What the condition of the approval found; None if it has none."""
    met: tuple[MetLabel, ...] = ()
    """Why a call that sends data out asks: what the run has met."""
    is_question: bool = False
    """Whether it only asks for an answer, and approves nothing."""
    sign_in: str | None = None
    """The MCP server at which a person must sign in."""

    @property
    def question(self) -> str:
        """The digest of what people see, which equal requests share."""
        return json_digest(self.prompt, self.show, *self.behind)

    @property
    def behind(self) -> tuple[JsonValue, ...]:
        """The input of the call, if the request shows something else, and its diff."""
        return () if self.call is None or self.call.input is None else (self.call.input,)


async def ask(
    scope: Scope, location: Location, asked: PersonRequest, *, boundary: bool = True
) -> Decision | None:
    """Wait for a person's decision; None when the deadline passed and the step fails.

    Args:
        scope: the run.
        location: where the run asks; it names the request.
        asked: the request.
        boundary: whether the run may continue as new here; not in the middle of a call.

    Raises:
        Skipped: a person skipped the step.
        Redirected: the deadline passed, and `on_timeout` names a team.
    """
    state, terms = scope.state, asked.terms
    requests, key = state.progress.requests, location.key
    request_id = requests.get(key)
    if request_id is None:
        request_id = requests[key] = _open_request(scope, location, asked)
    async with on_abort(partial(_withdraw, state, request_id)):
        if boundary:
            await scope.checkpoint()
        waiting = state.pending.get(request_id)
        if waiting is not None and not waiting.notified:
            _notify(scope, location, waiting, terms)
        push_state(scope)
        began = scope.time() if waiting is None else _seconds(waiting.since)
        await _wait_for_decision(scope, location, request_id, terms, boundary=boundary)
    requests.pop(key, None)
    push_state(scope)
    if request_id in state.pending:
        return _leave_undecided(scope, location, request_id, terms)
    decision = state.decisions[request_id]
    by, comment, changed = decision.by, decision.comment, decision.changes
    cause = RequestDecided("decided", request_id, decision.verdict, by, comment, changed)
    note_request(scope, location, decision.verdict, cause, began)
    state.mark_read(request_id)
    if decision.verdict == "skipped" and not asked.choices:
        raise Skipped(None)
    return decision


def _notify(scope: Scope, location: Location, request: Pending, terms: DecisionTerms) -> None:
    """Notify people of a request; without a channel, as nearly always, nothing changes."""
    text = f"{request.id} waits for a decision"
    if notify(scope, location, request, terms, "request", text):
        scope.state.pending[request.id] = request.model_copy(update={"notified": True})


def _withdraw(state: RunState, request_id: str) -> None:
    """Close a request for which no step waits any more."""
    state.pending.pop(request_id, None)
    state.mark_read(request_id)


async def _wait_for_decision(
    scope: Scope, location: Location, request_id: str, terms: DecisionTerms, *, boundary: bool
) -> None:
    """Wait until a person, or `on_timeout`, decides."""
    pending = scope.state.pending
    while True:
        request = pending.get(request_id)
        if request is None:
            return
        due = _next(terms, request)
        passed = scope.time() - _seconds(request.since) - request.stood_still
        remaining = None if due is None else max(due.seconds - passed, 0)
        awaited = "decision" if due is None else due.what
        if await scope.wait_until(
            lambda: request_id not in pending,
            remaining,
            f"{awaited} of {request_id}",
            boundary=boundary,
        ):
            return
        if due is None or due.what == "deadline":
            request = pending[request_id]  # as people left it
            outcome = request.at_deadline or terms.on_timeout
            text = f"nobody decided {request_id} in time: {outcome}"
            notify(scope, location, request, terms, "timeout", text)
            _decide_by_deadline(scope, request_id, terms)
            return
        _while_nobody_decides(scope, location, pending[request_id], terms, due)


def _next(terms: DecisionTerms, request: Pending) -> _Due | None:
    """Return the next event; at the same time, escalation, then reminder, then deadline."""
    moments: list[_Due] = []
    if request.escalations < len(terms.escalate):
        moments.append(_Due(terms.escalate[request.escalations].after, "escalate"))
    if terms.remind_every is not None:
        moments.append(_Due((request.reminders + 1) * terms.remind_every, "remind"))
    if terms.deadline is not None:
        moments.append(_Due(seconds_of(terms.deadline), "deadline"))
    return min(moments, key=lambda due: due.seconds, default=None)


def _while_nobody_decides(
    scope: Scope, location: Location, request: Pending, terms: DecisionTerms, due: _Due
) -> None:
    if due.what == "remind":
        number = request.reminders + 1
        update: dict[str, object] = {"reminders": number}
        cause: TrailCause = RequestReminded("reminded", request.id, number)
    else:
        further = people(scope.plan, terms.escalate[request.escalations].to)
        update = {"escalations": request.escalations + 1}
        if request.approvers:  # an empty list already allows everyone
            update["approvers"] = each_once((*request.approvers, *further))
        cause = RequestEscalated("escalated", request.id, further)
    changed = scope.state.pending[request.id] = request.model_copy(update=update)
    note_request(scope, location, cause.code, cause)
    what = "reminder" if due.what == "remind" else "escalation"
    number = changed.reminders if due.what == "remind" else changed.escalations
    notify(scope, location, changed, terms, what, trail_because(cause), number)


def _open_request(scope: Scope, location: Location, person_request: PersonRequest) -> str:
    """Open a request and give its id, bound to this visit; an equal approval may answer it."""
    content = [person_request.prompt, person_request.show, *person_request.behind]
    check_size(content, f"what {location.name!r} shows to a person", MAX_SHOWN)
    state, key = scope.state, location.step
    request_id = key.request(state.executed(key.counter))
    kept_as = _remembered_as(scope, location, person_request)
    now = scope.now()
    if person_request.asked is not None:
        note_request(scope, location, "asked", person_request.asked)
    earlier = None if kept_as is None else state.remembered.get(kept_as)
    if earlier is not None:
        _decide_again(state, earlier, request_id, now)
    else:
        state.pending[request_id] = _pending(scope, person_request, request_id, kept_as, now)
    return request_id


def _remembered_as(scope: Scope, location: Location, person_request: PersonRequest) -> str | None:
    """Return the name under which its decision answers equal requests; None if it does not."""
    remember, tool = person_request.terms.remember, person_request.tool
    if not remember:
        return None
    return (
        f"{location.step} {person_request.question}"
        if tool is None
        else f"tool {tool} {person_request.question}"
    )


def _pending(
    scope: Scope, person_request: PersonRequest, request_id: str, kept_as: str | None, now: datetime
) -> Pending:
    """Return the request as people see it, with the moment until which they may decide."""
    terms = person_request.terms
    approval_terms = terms if isinstance(terms, ApprovalTerms) else ApprovalTerms()
    allowed = optional_seconds(terms.deadline)
    until = None if allowed is None else now + timedelta(seconds=allowed)
    origin = origin_digest(scope.run_id, scope.state.execution, request_id)
    because = "" if person_request.asked is None else asked_because(person_request.asked)
    request = Pending(
        id=request_id,
        prompt=person_request.prompt,
        show=person_request.show,
        digest=request_digest(
            origin, person_request.prompt, person_request.show, person_request.call
        ),
        origin=origin,
        digest_required=approval_terms.digest == "required",
        approvers=people(scope.plan, terms.approvers),
        quorum=terms.quorum,
        choices=person_request.choices,
        call=person_request.call,
        asked=shortened(person_request.asked)
        if len(because) > _MAX_BECAUSE_LENGTH
        else person_request.asked,
        asked_because=shortened_text(because, _MAX_BECAUSE_LENGTH),
        met=person_request.met,
        editable=approval_terms.editable,
        payload_schema=approval_terms.schema_ if approval_terms.editable else None,
        since=now.isoformat(timespec="milliseconds"),
        deadline=None if until is None else until.isoformat(timespec="milliseconds"),
        on_timeout=None if until is None else terms.on_timeout,
        remembered_as=kept_as,
        is_question=person_request.is_question,
        sign_in=person_request.sign_in,
        via=terms.via,
    )
    if request.on_timeout == "approve" and not approvable(request):
        return request.model_copy(update={"on_timeout": "fail"})
    return request


def _decide_again(state: RunState, earlier: Decision, request_id: str, now: datetime) -> None:
    """Answer a request with the decision about an equal one."""
    at = now.isoformat(timespec="milliseconds")
    comment = f"as in {earlier.id}"
    update = {"id": request_id, "at": at, "how": "remembered", "comment": comment}
    state.decide(earlier.model_copy(update=update))


def _decide_by_deadline(scope: Scope, request_id: str, terms: DecisionTerms) -> None:
    """Decide by `on_timeout`, if that is a decision that the request allows."""
    request = scope.state.pending[request_id]
    match terms.timeout_outcome:
        case "approve" if approvable(request) and not request.edited:
            decision = "approve"
        case "reject":
            decision = "reject"
        case "approve" | "fail" | None:
            return
    answer = DecideInput(
        id=request_id, decision=decision, by="deadline", comment="nobody decided in time"
    )
    record(scope.state, answer, scope.now(), "deadline")


def _leave_undecided(
    scope: Scope, location: Location, request_id: str, terms: DecisionTerms
) -> None:
    """Fail the step after its deadline, or redirect the run to another team."""
    del scope.state.pending[request_id]
    cause = NotDecided("timed_out", request_id)
    note_request(scope, location, "failure", cause)
    if terms.timeout_team is not None:
        raise Redirected(terms.timeout_team, cause)


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
