"""The audit entries of an audit run: what gateways and commands sent it, batch by batch."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from pydantic import ValidationError
from temporalio.client import Client
from temporalio.service import RPCError

from coterie.audit.audit_entries import (
    AuditEntry,
    ExportedPart,
    GatewayNoted,
    PartEnded,
    PartStarted,
)
from coterie.audit.run_histories import AuditedPart, RunHistories
from coterie.dsl.json_values import json_digest
from coterie.dsl.values import Frozen
from coterie.failures import CommandError
from coterie.runs.call_errors import UnknownRun, call_error
from coterie.runs.histories.history_events import read_events, started
from coterie.runs.histories.recorded_events import (
    ContinuedAsNew,
    RunClosed,
    RunStarted,
    SignalReceived,
)
from coterie.runs.own_workflows import own_execution
from coterie.runs.run_client import Run
from coterie.signing.key_files import KeyFile
from coterie.signing.signers import sign_text
from coterie.workflows.core.audit_messages import (
    AUDIT_SIGNAL,
    AUDIT_WORKFLOW,
    AuditBatch,
    AuditLogInput,
)
from coterie.workflows.signatures.statements import Certificate
from coterie.workflows.signatures.verification import (
    MAX_CLOCK_SKEW,
    certificate_of,
    is_signed,
    is_within,
)


async def gateway_histories(client: Client, id: str) -> RunHistories:
    """Fetch the histories of an audit run, oldest first.

    Raises:
        CommandError: No gateway has recorded anything yet.
    """
    run = Run(client, id)
    try:
        latest = await own_execution(client, id, AUDIT_WORKFLOW)
    except RPCError as error:
        raise call_error(id, error) from None
    others = await _executions(client, id)
    executions = others if latest is None else [latest, *others]
    if not executions:
        raise CommandError(
            f"there is no audit run {id!r} on this server: `coterie serve` starts it with its "
            "first record"
        )
    parts: list[AuditedPart] = []
    missing: list[str] = []
    seen: set[str] = set()
    for run_id in executions:
        own, lost = await _chain(run, run_id, seen)
        parts[:0] = own
        missing[:0] = lost
    return RunHistories(tuple(parts), tuple(missing))


async def _executions(client: Client, id: str) -> list[str]:
    """Return the run ids of all histories of an audit run, latest first.

    Somebody may have closed the audit run; the next batch then began another one.
    """
    literal = id.replace("\\", "\\\\").replace("'", "\\'")
    query = f"WorkflowId = '{literal}' AND WorkflowType = '{AUDIT_WORKFLOW}'"
    found = [one async for one in client.list_workflows(query)]
    return [one.run_id for one in sorted(found, key=lambda one: one.start_time, reverse=True)]


async def _chain(run: Run, run_id: str, seen: set[str]) -> tuple[list[AuditedPart], list[str]]:
    """Return an execution and those that it continues, oldest first, as far as they are new."""
    parts: list[AuditedPart] = []
    before = run_id
    while before and before not in seen:
        seen.add(before)
        try:
            history = await run.history(before)
        except UnknownRun:
            return parts, [before]
        covered = ExportedPart(run=run.id, run_id=before, events=len(history.events))
        parts.insert(0, AuditedPart(covered, history))
        before = started(history).previous
    return parts, []


def begun_again(entries: Iterable[AuditEntry]) -> list[str]:
    """Return the run ids of the histories of an audit run that began beside or after others.

    The first history of an audit run continues no other; any further such history tells that
    somebody closed the audit run.
    """
    starts = [entry for entry in entries if isinstance(entry, PartStarted)]
    return [entry.run_id for entry in starts[1:] if not entry.continues]


def gateway_entries(parts: Sequence[AuditedPart]) -> list[AuditEntry]:
    """Return the entries of the histories of an audit run."""
    return [entry for part in parts for entry in _entries(part)]


def _entries(part: AuditedPart) -> Iterator[AuditEntry]:
    for event in read_events(part.history.events):
        at = event.at.isoformat()
        match event:
            case RunStarted():
                earlier = event.value.read_if(AuditLogInput) or AuditLogInput()
                yield PartStarted(
                    kind="started",
                    at=at,
                    run=part.covered.run,
                    run_id=part.covered.run_id,
                    sender=event.sender,
                    continues=event.previous,
                    earlier_batches=earlier.batches,
                    earlier_head=earlier.head if earlier.batches else "",
                )
            case SignalReceived(name=name) if name == AUDIT_SIGNAL:
                batch = event.value.read_if(AuditBatch) or AuditBatch(source="malformed")
                yield GatewayNoted(
                    kind="gateway", at=at, event=event.id, batch=batch, sender=event.sender
                )
            case ContinuedAsNew():
                yield PartEnded(kind="ended", at=at, state="continued as new")
            case RunClosed():
                yield PartEnded(kind="ended", at=at, state=event.state, why=event.why)
            case _:
                pass


class BatchStatement(Frozen):
    """What the signature of a batch covers."""

    run: str
    """Id of the audit run."""
    number: int
    """Of the batch, of its process."""
    at: str
    source: str
    digest: str
    """Of the records."""
    lost: int


def signed_batch(
    batch: AuditBatch, key: KeyFile, run: str, number: int, now: datetime
) -> AuditBatch:
    """Return a batch with the signature of a gateway's key, for one audit run and one time."""
    statement = _statement(batch, run, number, now.isoformat(timespec="milliseconds"))
    signature = sign_text(key, "audit", statement.model_dump_json())
    return batch.model_copy(update={"signature": signature, "certificate": key.certificate})


def batch_signer(
    batch: AuditBatch, roots: Sequence[str], run: str, arrived: datetime
) -> str | None:
    """Return the gateway that signed a batch for an audit run when it arrived; None if none did.

    Args:
        batch: As the audit run received it.
        roots: The public root keys that the reader trusts.
        run: Id of the audit run.
        arrived: When it received the batch.
    """
    if batch.signature is None or batch.certificate is None:
        return None
    found = [certificate_of(batch.certificate, root) for root in roots]
    certificate = next((one for one in found if isinstance(one, Certificate)), None)
    if certificate is None or certificate.kind != "gateway":
        return None
    if not is_signed(batch.signature, "audit", certificate.key):
        return None
    try:
        said = BatchStatement.model_validate_json(batch.signature.body, strict=True)
        at = datetime.fromisoformat(said.at)
        is_near = abs(arrived - at) <= MAX_CLOCK_SKEW
    except (ValidationError, ValueError, TypeError):
        return None
    is_same = said == _statement(batch, run, said.number, said.at)
    return certificate.subject if is_same and is_near and is_within(at, certificate) else None


def _statement(batch: AuditBatch, run: str, number: int, at: str) -> BatchStatement:
    records = [record.model_dump_json() for record in batch.records]
    return BatchStatement(
        run=run,
        number=number,
        at=at,
        source=batch.source,
        digest=json_digest(*records),
        lost=batch.lost,
    )


class BatchProofs(NamedTuple):
    """What the signatures of the batches of an audit run prove."""

    unsigned: list[int]
    """Events of those that no gateway signed."""
    copies: list[int]
    """Events of those that repeat an earlier one."""


def batch_proofs(noted: Iterable[GatewayNoted], roots: Sequence[str], run: str) -> BatchProofs:
    """Return what the signatures of batches prove, in the order in which they arrived."""
    proofs = BatchProofs([], [])
    seen: set[str] = set()
    for entry in noted:
        batch = entry.batch
        signer = batch_signer(batch, roots, run, datetime.fromisoformat(entry.at))
        if signer is None or batch.signature is None:
            proofs.unsigned.append(entry.event)
        elif batch.signature.body in seen:
            proofs.copies.append(entry.event)
        else:
            seen.add(batch.signature.body)
    return proofs
