"""The audit entries of a run, from its histories: its own, its origins, what a reset left.

Histories only grow. So the same number of their events gives the same entries again, and an export
can be compared with the server.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, JsonValue
from temporalio.client import WorkflowHistory

from coterie.audit.audit_entries import (
    AuditEntry,
    CancelAsked,
    EffectMade,
    ExportedPart,
    MessageSent,
    Noted,
    PartEnded,
    PartStarted,
)
from coterie.audit.run_histories import AuditedPart
from coterie.dsl.json_values import json_digest
from coterie.failures import CommandError
from coterie.replay.rebuilt_run import NotFollowed, Rebuilt, joined_trails, rebuilt
from coterie.runs.effects_ledger import effects_of
from coterie.runs.histories.history_events import closed, read_event, started
from coterie.runs.histories.recorded_calls import in_visits, recorded_calls
from coterie.runs.histories.recorded_events import (
    CancelRequested,
    ContinuedAsNew,
    RecordedEvent,
    RunClosed,
    RunStarted,
    SignalReceived,
    TaskFailure,
    UpdateAccepted,
    UpdateCompleted,
)
from coterie.workflows.core.memo_keys import STARTED
from coterie.workflows.core.message_claims import claim_of
from coterie.workflows.core.messages import (
    AmendInput,
    Answer,
    DecideInput,
    RedirectInput,
    RetryInput,
    SayInput,
    SignedInput,
    SkipInput,
)
from coterie.workflows.core.views import TrailEntry
from coterie.workflows.signatures.statements import Authority, SignedStatement, VerifiedSigner
from coterie.workflows.signatures.verification import statement_of, verified

_NOTED = ("approval", "refused", "control", "budget")
"""Kinds of entries of the trail; the others tell the path of the run."""
_SIGNED: dict[str, type[SignedInput]] = {
    "decide": DecideInput,
    "approve": Answer,
    "reject": Answer,
    "retry": RetryInput,
    "skip": SkipInput,
    "amend": AmendInput,
    "redirect": RedirectInput,
    "say": SayInput,
}
"""The messages that people sign."""


class MessageAuthority(NamedTuple):
    """What decides whether a signature vouches for a message of a history."""

    authority: Authority | None
    """What the run demands; None: it believes names."""
    repeats: bool
    """Whether a reset has repeated the message: it was signed for the execution before."""


async def run_entries(parts: Sequence[AuditedPart]) -> list[AuditEntry]:
    """Return the entries of some histories.

    Raises:
        CommandError: Another version of Coterie ran them.
    """
    entries: list[AuditEntry] = []
    listed: set[tuple[int, str, str]] = set()
    group: list[AuditedPart] = []
    for number, part in enumerate(parts):
        group.append(part)
        following = parts[number + 1].covered if number + 1 < len(parts) else None
        if following is None or not _continue_each_other(part.covered, following):
            entries += await _entries_of_run(group, listed)
            group = []
    return entries


def _continue_each_other(one: ExportedPart, other: ExportedPart) -> bool:
    return one.run == other.run and not one.superseded_by and not other.superseded_by


async def _entries_of_run(
    parts: Sequence[AuditedPart], listed: set[tuple[int, str, str]]
) -> list[AuditEntry]:
    """Return the entries of the consecutive histories of one run."""
    rebuilt_parts = [await _rebuilt_part(part.history) for part in parts]
    trail = joined_trails(*(one.trail for one in rebuilt_parts if one is not None))
    begins = [started(part.history).at for part in parts]
    entries: list[list[AuditEntry]] = []
    for part, one in zip(parts, rebuilt_parts, strict=True):
        entries.append(list(_of_events(part, None if one is None else one.status.authority)))
    noted = [entry for entry in trail if entry.kind in _NOTED]
    since = _since(parts[0])
    for entry in noted:
        key, at = (entry.number, entry.at, entry.because), datetime.fromisoformat(entry.at)
        if key not in listed and at >= since:
            listed.add(key)
            entries[_place(begins, at)].append(_trail_line(entry))
    latest = next((one for one in reversed(rebuilt_parts) if one is not None), None)
    if latest is not None:
        for at, effect in _effects(parts, latest, trail):
            entries[_place(begins, at)].append(effect)
    return [
        entry for part, own in zip(parts, entries, strict=True) for entry in _in_order(part, own)
    ]


def _in_order(part: AuditedPart, entries: Sequence[AuditEntry]) -> Iterator[AuditEntry]:
    """Yield the entries of a history by time; of a superseded one, those after the reset."""
    first, *others = entries
    yield first
    since = _since(part)
    yield from (entry for entry in sorted(others, key=_time) if _time(entry) >= since)


def _since(part: AuditedPart) -> datetime:
    """Return the time from which a history counts; a fork tells older entries of its origin."""
    if part.covered.first == 1:
        return datetime.min.replace(tzinfo=UTC)
    return read_event(part.history.events[part.covered.first - 1]).at


def _time(entry: AuditEntry) -> datetime:
    return datetime.fromisoformat(entry.at)


async def _rebuilt_part(history: WorkflowHistory) -> Rebuilt | None:
    """Return a history as this code follows it; None before a worker has begun it."""
    one = await rebuilt(history)
    if isinstance(one, Rebuilt):
        return one
    if not one.has_begun:
        return None
    raise _not_followed(history, one)


def _not_followed(history: WorkflowHistory, why: NotFollowed) -> CommandError:
    return CommandError(
        f"another version of Coterie ran {history.workflow_id!r}, and this one cannot tell what it "
        f"decided ({why.cause}); export it with the version of its worker"
    )


def _place(begins: Sequence[datetime], at: datetime) -> int:
    return max((number for number, begin in enumerate(begins) if begin <= at), default=0)


def _effects(
    parts: Sequence[AuditedPart], latest: Rebuilt, trail: Sequence[TrailEntry]
) -> Iterator[tuple[datetime, AuditEntry]]:
    calls = [call for part in parts for call in recorded_calls(part.history)]
    in_visits(calls, trail)
    has_ended = closed(parts[-1].history) is not None
    for effect in effects_of(latest.plan, calls, trail, has_ended=has_ended):
        at = effect.ended or effect.at
        yield (
            at,
            EffectMade(
                kind="effect",
                at=at.isoformat(),
                began=effect.at.isoformat(),
                step=effect.step,
                skill=effect.skill,
                effect=effect.effect,
                certainty=effect.certainty,
                why=effect.why,
                input=json_digest(effect.input),
                key=effect.key,
            ),
        )


def _trail_line(entry: TrailEntry) -> Noted:
    return Noted(
        kind="noted",
        at=entry.at,
        number=entry.number,
        entry=entry.kind,
        team=entry.team,
        visit=entry.visit,
        step=entry.step or "",
        status=entry.status or "",
        because=entry.because,
    )


def _of_events(part: AuditedPart, authority: Authority | None) -> Iterator[AuditEntry]:
    events = [read_event(event) for event in part.history.events]
    resets = (event.id for event in events if isinstance(event, TaskFailure) and event.base)
    repeated = max(resets, default=0)
    answers = {event.update: event for event in events if isinstance(event, UpdateCompleted)}
    for event in events:
        if event.id >= part.covered.first or isinstance(event, RunStarted):
            demanded = MessageAuthority(authority, repeats=event.id < repeated)
            yield from _of_event(event, part.covered, answers, demanded)


def _of_event(
    event: RecordedEvent,
    covered: ExportedPart,
    answers: dict[str, UpdateCompleted],
    demanded: MessageAuthority,
) -> Iterator[AuditEntry]:
    at = event.at.isoformat()
    match event:
        case RunStarted():
            yield _start_line(event, covered)
        case SignalReceived():
            yield _message(event, demanded, "sent", "")
        case UpdateAccepted():
            answer = answers.get(event.update)
            failure = None if answer is None else answer.failure
            done = "open" if answer is None else "taken"
            code = "" if failure is None else failure.type
            yield _message(event, demanded, done if failure is None else "refused", code)
        case CancelRequested(id=id, reason=reason, sender=sender):
            yield CancelAsked(kind="cancel", at=at, event=id, reason=reason, sender=sender)
        case TaskFailure() if event.base:
            yield PartEnded(kind="ended", at=at, state="reset", why=f"of {event.base}")
        case ContinuedAsNew():
            yield PartEnded(kind="ended", at=at, state="continued as new")
        case RunClosed():
            yield PartEnded(kind="ended", at=at, state=event.state, why=event.why)
        case _:
            pass


def _start_line(event: RunStarted, covered: ExportedPart) -> PartStarted:
    given = event.input
    fork = given.fork
    point = "" if fork is None else fork.at or (f"message {fork.message}" if fork.message else "")
    return PartStarted(
        kind="started",
        at=event.at.isoformat(),
        run=covered.run,
        run_id=covered.run_id,
        team=event.memo.get(STARTED, ""),
        sender=event.sender,
        context=json_digest(given.context) if given.context else "",
        continues=event.previous,
        forked_from="" if fork is None else fork.run,
        point=point,
        by="" if fork is None else fork.by,
        why="" if fork is None else fork.why,
    )


class _Said(BaseModel):
    """What messages have in common; anything else counts by its digest."""

    model_config = ConfigDict(extra="ignore")

    by: str = ""
    why: str = ""
    comment: str = ""
    id: str = ""
    task: str = ""
    team: str = ""
    updates: dict[str, JsonValue] = {}
    decision: str = ""


def _message(
    event: SignalReceived | UpdateAccepted,
    demanded: MessageAuthority,
    outcome: Literal["taken", "refused", "open", "sent"],
    code: str,
) -> MessageSent:
    said = event.value.read_if(_Said) or _Said()
    return MessageSent(
        kind="message",
        at=event.at.isoformat(),
        event=event.id,
        name=event.name,
        about=said.id or said.task or said.team or ", ".join(said.updates),
        decision=said.decision,
        by=said.by,
        why=said.comment or said.why,
        sender=event.sender,
        digest=json_digest(event.value.json),
        signed_by=signer_of(event, demanded),
        outcome=outcome,
        code=code,
    )


def signer_of(event: SignalReceived | UpdateAccepted, demanded: MessageAuthority) -> str:
    """Return who signed this very message to this run; empty if nobody did."""
    asked, authority = _signed_message(event), demanded.authority
    if asked is None or asked.proof is None or authority is None:
        return ""
    if demanded.repeats:
        said = statement_of(asked.proof, authority.root)
        if isinstance(said, SignedStatement):
            authority = authority.model_copy(update={"execution": said.execution})
    signer = verified(asked.proof, claim_of(asked), authority, event.at)
    if not isinstance(signer, VerifiedSigner):
        return ""
    return f"{signer.subject} by {signer.method} at {signer.at}"


def _signed_message(event: SignalReceived | UpdateAccepted) -> SignedInput | None:
    model = _SIGNED.get(event.name)
    asked = None if model is None else event.value.read_if(model)
    if isinstance(asked, Answer) and (event.name == "approve" or event.name == "reject"):
        return DecideInput(**asked.model_dump(exclude_unset=True), decision=event.name)
    return asked
