"""Exports: the lines of a run or of an audit run, sealed by a key; and their comparison."""

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import Literal

from temporalio.client import Client

from coterie.audit.audit_chain import (
    ChainProblem,
    CheckedExport,
    Seal,
    SealBody,
    chain_lines,
    entry_text,
    marks_of,
)
from coterie.audit.audit_entries import AuditEntry, ExportedPart, ExportOpened
from coterie.audit.gateway_audit import gateway_entries, gateway_histories
from coterie.audit.run_audit import run_entries
from coterie.audit.run_histories import (
    AuditedPart,
    RunHistories,
    run_histories,
    same_histories,
)
from coterie.failures import CommandError
from coterie.runs.histories.history_events import read_event
from coterie.server.message_senders import current_sender
from coterie.signing.key_files import KeyFile
from coterie.signing.signers import sign_text
from coterie.text.problems import counted
from coterie.version import own_version
from coterie.workflows.signatures.verification import MAX_CLOCK_SKEW


async def export_of_run(client: Client, id: str) -> list[AuditEntry]:
    """Return the entries of a run, after the one that opens its export.

    Raises:
        CommandError: The run does not exist, or another version ran it.
    """
    began = datetime.now(UTC)
    found = await run_histories(client, id)
    return [_opening_line("run", id, found, began), *await run_entries(found.parts)]


async def export_of_gateway(client: Client, id: str) -> list[AuditEntry]:
    """Return the entries of an audit run, after the one that opens its export.

    Raises:
        CommandError: No gateway has recorded anything yet.
    """
    began = datetime.now(UTC)
    found = await gateway_histories(client, id)
    return [_opening_line("gateway", id, found, began), *gateway_entries(found.parts)]


def sealed(entries: Sequence[AuditEntry], key: KeyFile | None, now: datetime) -> bytes:
    """Return the content of the file of an export; without a key, it has no seal.

    Raises:
        CommandError: The certificate of the key has ended, or is that of a root.
    """
    lines, hashes = chain_lines(entries)
    if key is not None:
        lines.append(_seal(entries, hashes, key, now).model_dump_json().encode())
    return b"".join(line + b"\n" for line in lines)


def _seal(
    entries: Sequence[AuditEntry], hashes: Sequence[str], key: KeyFile, now: datetime
) -> Seal:
    certificate, opened = key.certified, entries[0]
    if key.certificate is None or now > datetime.fromisoformat(certificate.not_after):
        raise CommandError(
            f"the certificate of this key ended at {certificate.not_after}; renew it with "
            "`coterie keys issue`"
        )
    assert isinstance(opened, ExportOpened)
    each, marks = marks_of(hashes)
    body = SealBody(
        of=opened.of,
        id=opened.id,
        lines=len(hashes),
        first=hashes[0],
        head=hashes[-1],
        each=each,
        marks=marks,
        begins=entries[min(1, len(entries) - 1)].at,
        ends=entries[-1].at,
        signer=certificate.subject,
        at=now.isoformat(timespec="milliseconds"),
    )
    return Seal(seal=sign_text(key, "audit", body.model_dump_json()), certificate=key.certificate)


def _opening_line(
    of: Literal["run", "gateway"], id: str, found: RunHistories, began: datetime
) -> ExportOpened:
    return ExportOpened(
        kind="export",
        of=of,
        id=id,
        parts=tuple(part.covered for part in found.parts),
        missing=found.missing,
        at=began.isoformat(timespec="milliseconds"),
        by=current_sender(),
        version=own_version(),
    )


async def server_differences(client: Client, checked: CheckedExport) -> list[ChainProblem]:
    """Return what of an export is not what the histories on a server tell.

    The server tells which histories the export must cover, never the export.

    Raises:
        CommandError: The server does not answer, or another version ran the run.
    """
    opened = checked.opened
    if opened is None:
        return []
    cutoff = _cutoff(opened)
    if cutoff is None or not opened.parts or any(part.events < 1 for part in opened.parts):
        return [ChainProblem(1, "covers no history, or none of its events, or names no time")]
    if opened.parts[-1].run != opened.id:
        return [ChainProblem(1, f"covers no history of {opened.id!r}")]
    found, missing = await same_histories(client, opened.parts)
    if missing:
        return [ChainProblem(1, _missing_text(missing))]
    short = [part.covered for part in found if len(part.history.events) < part.covered.events]
    if short:
        names = ", ".join(part.run_id for part in short)
        return [ChainProblem(1, f"covers more events than the server has of {names}")]
    then, now = await _histories_on_server(client, opened)
    wrong = [*set_differences(opened, then, now, cutoff), *_events_left_out(found, cutoff)]
    if wrong:
        return [ChainProblem(1, text) for text in wrong]
    covered = [part.as_covered for part in found]
    entries = await run_entries(covered) if opened.of == "run" else gateway_entries(covered)
    return _differences(checked, [entry_text(entry) for entry in entries])


def _cutoff(opened: ExportOpened) -> datetime | None:
    """Return until when the export must be whole: the clocks of exporter and server may differ."""
    try:
        at = datetime.fromisoformat(opened.at)
    except ValueError:
        return None
    return None if at.tzinfo is None else at - MAX_CLOCK_SKEW


async def _histories_on_server(
    client: Client, opened: ExportOpened
) -> tuple[RunHistories, RunHistories]:
    """Return the histories behind the latest one of an export, and behind the latest of all."""
    if opened.of == "gateway":
        now = await gateway_histories(client, opened.id)
        ids = {part.run_id for part in opened.parts}
        then = tuple(part for part in now.parts if part.covered.run_id in ids)
        return RunHistories(then, now.missing), now
    now = await run_histories(client, opened.id)
    latest = opened.parts[-1].run_id
    if now.parts[-1].covered.run_id == latest:
        return now, now
    return await run_histories(client, opened.id, latest), now


def set_differences(
    opened: ExportOpened, then: RunHistories, now: RunHistories, cutoff: datetime
) -> Iterator[str]:
    """Yield how the histories that an export lists differ from those that it should list.

    Args:
        opened: What the export lists.
        then: The histories behind the latest one of the export.
        now: Those behind the latest one on the server.
        cutoff: What began until this time belongs to the export.
    """
    behind = {part.covered.run_id: part.covered for part in then.parts}
    later = [part.covered.run_id for part in now.parts if part.began <= cutoff]
    yield from _missing_differences(opened, behind, then)
    listed = {part.run_id for part in opened.parts}
    for run_id in dict.fromkeys((*behind, *later)):
        if run_id not in listed and run_id not in opened.missing:
            yield f"leaves out the history {run_id}"
    for part in opened.parts:
        recorded = behind.get(part.run_id)
        if recorded is None:
            yield f"covers a history that is none of {opened.id!r}: {part.run} ({part.run_id})"
        elif part.model_copy(update={"events": recorded.events}) != recorded:
            yield f"names another run, beginning or reset than the server for {part.run_id}"
    if listed == behind.keys() and [part.run_id for part in opened.parts] != list(behind):
        yield "does not list its histories once and in their order"


def _missing_differences(
    opened: ExportOpened, behind: Collection[str], then: RunHistories
) -> Iterator[str]:
    for run_id in opened.missing:
        if run_id in behind:
            yield f"lists as deleted what the server has: {run_id}"
        elif run_id not in then.missing:
            yield f"lists as deleted a history that is none of {opened.id!r}: {run_id}"
    for run_id in then.missing:
        if run_id not in opened.missing:
            yield f"does not tell that the server has deleted {run_id}"


def _events_left_out(parts: Sequence[AuditedPart], cutoff: datetime) -> Iterator[str]:
    for part in parts:
        others = part.history.events[max(0, part.covered.events) :]
        count = sum(read_event(event).at <= cutoff for event in others)
        if count:
            yield f"leaves out {counted(count, 'event')} of {part.covered.run_id}"


def _missing_text(missing: Sequence[ExportedPart]) -> str:
    names = ", ".join(f"{part.run} ({part.run_id})" for part in missing)
    return f"cannot be compared: the server has deleted {counted(len(missing), 'history')}: {names}"


def _differences(checked: CheckedExport, recorded: Sequence[str]) -> list[ChainProblem]:
    problems: list[ChainProblem] = []
    lines = [line for line in checked.lines if line.position > 1]
    for line, text in zip(lines, recorded, strict=False):
        if line.entry.decode() != text:
            text = "is not what the history tells: lines were changed, removed or added here"
            return [ChainProblem(line.position, text)]
    if len(lines) < len(recorded):
        problems.append(
            ChainProblem(None, f"{counted(len(recorded) - len(lines), 'line')} missing at the end")
        )
    for line in lines[len(recorded) :]:
        problems.append(ChainProblem(line.position, "is not in the history"))
    return problems
