"""The audit entries of a run, from its histories: its own, its origins, what a reset left.

Histories only grow. So the same number of their events gives the same entries again, and an export
can be compared with the server.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, JsonValue
from temporalio.client import Client, WorkflowHistory

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
from coterie.dsl.json_values import json_digest
from coterie.failures import CommandError
from coterie.replay.rebuilt_run import NotFollowed, Rebuilt, joined_trails, rebuilt
from coterie.runs.call_errors import UnknownRun
from coterie.runs.effects_ledger import effects_of
from coterie.runs.histories.history_events import closed, read_event, read_events, started
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
from coterie.runs.run_client import Run
from coterie.storage.histories import WORKFLOW
from coterie.workflows.core.memo_keys import STARTED
from coterie.workflows.core.messages import ForkInput
from coterie.workflows.core.views import TrailEntry
from coterie.workflows.signatures.statements import Proof, SignedStatement
from coterie.workflows.signatures.verification import statement_of

_NOTED = ("approval", "refused", "control", "budget")
"""Kinds of entries of the trail; the others tell the path of the run."""
_MAX_RUNS = 100


class AuditedPart(NamedTuple):
    """A history, as far as an export covers it."""

    covered: ExportedPart
    history: WorkflowHistory


@dataclass(frozen=True, slots=True)
class RunHistories:
    """The histories behind a run, oldest first."""

    parts: tuple[AuditedPart, ...]
    missing: tuple[str, ...]
    """Run ids of those that the server has deleted."""


async def run_histories(client: Client, id: str) -> RunHistories:
    """Fetch the histories of a run, of those that it was forked from, and what resets replaced.

    Raises:
        CommandError: The run does not exist.
    """
    if (await Run(client, id).describe()).workflow_type != WORKFLOW:
        raise CommandError(
            f"{id!r} is not a run of a team; `coterie runs` lists them, and the audit run has "
            "`coterie audit export --gateway`"
        )
    parts: list[AuditedPart] = []
    missing: list[str] = []
    fork: ForkInput | None = ForkInput(run=id)
    while fork is not None and len(parts) < _MAX_RUNS:
        own, lost, fork = await _chain(client, fork.run, fork.run_id, is_first=not parts)
        parts[:0] = own
        missing[:0] = lost
    return RunHistories(tuple(parts), tuple(missing))


async def _chain(
    client: Client, id: str, run_id: str | None, *, is_first: bool
) -> tuple[list[AuditedPart], list[str], ForkInput | None]:
    """Return the parts of one run up to an execution, and the run that it was forked from."""
    run = Run(client, id)
    before = run_id or (await run.describe()).run_id
    parts: list[AuditedPart] = []
    while True:
        try:
            history = await run.history(before)
        except UnknownRun:
            if is_first and not parts:
                raise
            return parts, [before], None
        first = started(history)
        found = _part(history, before)
        parts[:0] = [*await _replaced_histories(client, found), found]
        if not first.previous:
            return parts, [], first.input.fork
        before = first.previous


def _part(history: WorkflowHistory, run_id: str, first: int = 1, by: str = "") -> AuditedPart:
    events = len(history.events)
    covered = ExportedPart(
        run=history.workflow_id, run_id=run_id, events=events, first=first, superseded_by=by
    )
    return AuditedPart(covered, history)


async def _replaced_histories(client: Client, part: AuditedPart) -> list[AuditedPart]:
    """Return the histories that resets replaced by a part, oldest first."""
    found: list[AuditedPart] = []
    for event in read_events(part.history.events):
        if isinstance(event, TaskFailure) and event.base and event.base != part.covered.run_id:
            try:
                history = await Run(client, part.covered.run).history(event.base)
            except UnknownRun:
                continue
            found.append(_part(history, event.base, event.id, part.covered.run_id))
    return found


async def same_histories(
    client: Client, parts: Sequence[ExportedPart]
) -> tuple[list[AuditedPart], list[ExportedPart]]:
    """Return the histories of an export as it covers them, and those that the server has not."""
    found: list[AuditedPart] = []
    missing: list[ExportedPart] = []
    for part in parts:
        try:
            history = await Run(client, part.run).history(part.run_id)
        except UnknownRun:
            missing.append(part)
            continue
        events = history.events[: part.events]
        found.append(AuditedPart(part, WorkflowHistory(history.workflow_id, events)))
    return found, missing


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
        root = "" if one is None or one.status.authority is None else one.status.authority.root
        entries.append(list(_of_events(part, root)))
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


def _of_events(part: AuditedPart, root: str) -> Iterator[AuditEntry]:
    events = [read_event(event) for event in part.history.events]
    answers = {event.update: event for event in events if isinstance(event, UpdateCompleted)}
    for event in events:
        if event.id >= part.covered.first or isinstance(event, RunStarted):
            yield from _of_event(event, part.covered, answers, root)


def _of_event(
    event: RecordedEvent,
    covered: ExportedPart,
    answers: dict[str, UpdateCompleted],
    root: str,
) -> Iterator[AuditEntry]:
    at = event.at.isoformat()
    match event:
        case RunStarted():
            yield _start_line(event, covered)
        case SignalReceived():
            yield _message(event, root, "sent", "")
        case UpdateAccepted():
            answer = answers.get(event.update)
            failure = None if answer is None else answer.failure
            done = "open" if answer is None else "taken"
            code = "" if failure is None else failure.type
            yield _message(event, root, done if failure is None else "refused", code)
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
    proof: Proof | None = None


def _message(
    event: SignalReceived | UpdateAccepted,
    root: str,
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
        signed_by=_signer(said.proof, root),
        outcome=outcome,
        code=code,
    )


def _signer(proof: Proof | None, root: str) -> str:
    statement = None if proof is None or not root else statement_of(proof, root)
    if not isinstance(statement, SignedStatement):
        return ""
    return f"{statement.subject} by {statement.method} at {statement.at}"
