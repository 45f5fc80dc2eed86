"""Exports: the lines of a run or of an audit run, sealed by a key; and their comparison."""

from collections.abc import Sequence
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
from coterie.audit.run_audit import (
    RunHistories,
    run_entries,
    run_histories,
    same_histories,
)
from coterie.failures import CommandError
from coterie.server.message_senders import current_sender
from coterie.signing.key_files import KeyFile
from coterie.signing.signers import sign_text
from coterie.text.problems import counted
from coterie.version import own_version


async def export_of_run(client: Client, id: str) -> list[AuditEntry]:
    """Return the entries of a run, after the one that opens its export.

    Raises:
        CommandError: The run does not exist, or another version ran it.
    """
    found = await run_histories(client, id)
    return [_opening_line("run", id, found), *await run_entries(found.parts)]


async def export_of_gateway(client: Client, id: str) -> list[AuditEntry]:
    """Return the entries of an audit run, after the one that opens its export.

    Raises:
        CommandError: No gateway has recorded anything yet.
    """
    found = await gateway_histories(client, id)
    return [_opening_line("gateway", id, found), *gateway_entries(found.parts)]


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


def _opening_line(of: Literal["run", "gateway"], id: str, found: RunHistories) -> ExportOpened:
    return ExportOpened(
        kind="export",
        of=of,
        id=id,
        parts=tuple(part.covered for part in found.parts),
        missing=found.missing,
        at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        by=current_sender(),
        version=own_version(),
    )


async def server_differences(client: Client, checked: CheckedExport) -> list[ChainProblem]:
    """Return which lines of an export are not what the histories on a server tell.

    Raises:
        CommandError: The server does not answer, or another version ran the run.
    """
    opened = checked.opened
    if opened is None:
        return []
    found, missing = await same_histories(client, opened.parts)
    if missing:
        return [ChainProblem(1, _missing_text(missing))]
    short = [part.covered for part in found if len(part.history.events) < part.covered.events]
    if short:
        names = ", ".join(part.run_id for part in short)
        return [ChainProblem(1, f"covers more events than the server has of {names}")]
    is_run = opened.of == "run"
    entries = await run_entries(found) if is_run else gateway_entries(found)
    return _differences(checked, [entry_text(entry) for entry in entries])


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
