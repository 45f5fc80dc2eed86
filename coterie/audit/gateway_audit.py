"""The audit entries of an audit run: what gateways and commands sent it, batch by batch."""

from collections.abc import Iterator, Sequence

from temporalio.client import Client

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
from coterie.runs.call_errors import UnknownRun
from coterie.runs.histories.history_events import read_events, started
from coterie.runs.histories.recorded_events import (
    ContinuedAsNew,
    RunClosed,
    RunStarted,
    SignalReceived,
)
from coterie.runs.run_client import Run
from coterie.signing.key_files import KeyFile
from coterie.signing.signers import sign_text
from coterie.workflows.core.audit_messages import AUDIT_SIGNAL, AuditBatch, AuditLogInput
from coterie.workflows.signatures.statements import Certificate
from coterie.workflows.signatures.verification import certificate_of, is_signed


async def gateway_histories(client: Client, id: str) -> RunHistories:
    """Fetch the histories of an audit run, oldest first.

    Raises:
        CommandError: No gateway has recorded anything yet.
    """
    run = Run(client, id)
    try:
        before = (await run.describe()).run_id
    except UnknownRun:
        raise CommandError(
            f"there is no audit run {id!r} on this server: `coterie serve` starts it with its "
            "first record"
        ) from None
    parts: list[AuditedPart] = []
    while before:
        try:
            history = await run.history(before)
        except UnknownRun:
            return RunHistories(tuple(parts), (before,))
        covered = ExportedPart(run=id, run_id=before, events=len(history.events))
        parts.insert(0, AuditedPart(covered, history))
        before = started(history).previous
    return RunHistories(tuple(parts), ())


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

    source: str
    digest: str
    """Of the records."""
    lost: int


def signed_batch(batch: AuditBatch, key: KeyFile) -> AuditBatch:
    """Return a batch with the signature of a gateway's key."""
    signature = sign_text(key, "audit", _statement(batch).model_dump_json())
    return batch.model_copy(update={"signature": signature, "certificate": key.certificate})


def batch_signer(batch: AuditBatch, roots: Sequence[str]) -> str | None:
    """Return the gateway that signed a batch; None if none did that these roots have certified."""
    if batch.signature is None or batch.certificate is None:
        return None
    found = [certificate_of(batch.certificate, root) for root in roots]
    certificate = next((one for one in found if isinstance(one, Certificate)), None)
    if certificate is None or not is_signed(batch.signature, "audit", certificate.key):
        return None
    is_same = batch.signature.body == _statement(batch).model_dump_json()
    return certificate.subject if is_same else None


def _statement(batch: AuditBatch) -> BatchStatement:
    records = [record.model_dump_json() for record in batch.records]
    digest = json_digest(*records)
    return BatchStatement(source=batch.source, digest=digest, lost=batch.lost)
