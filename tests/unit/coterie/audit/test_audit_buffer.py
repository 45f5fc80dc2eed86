"""Records wait for the audit run in bounded room: a flood is a few lines, the rest a count."""

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory
from temporalio.service import RPCError, RPCStatusCode

from coterie.audit import audit_buffer
from coterie.audit.audit_buffer import (
    MAX_OTHERS,
    MAX_REFUSALS,
    OTHER_SECONDS,
    REFUSAL_SECONDS,
    AuditBuffer,
    AuditSender,
    refusal,
)
from coterie.audit.audit_entries import GatewayNoted
from coterie.audit.gateway_audit import (
    batch_proofs,
    batch_signer,
    begun_again,
    gateway_entries,
    gateway_histories,
    signed_batch,
)
from coterie.settings import load
from coterie.signing.key_files import KeyFile
from coterie.signing.signers import issue
from coterie.workflows.audit_log import AuditLogWorkflow
from coterie.workflows.core.audit_messages import (
    AUDIT_WORKFLOW,
    AuditBatch,
    AuditedAct,
    AuditLogInput,
    AuditRecord,
)
from tests.support.servers.recorded_client import Recorded, client_of
from tests.unit.coterie.audit.test_audit_chain import DAY, GATEWAY, NOW, ROOT, STRANGER


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def record(act: AuditedAct, second: int, subject: str = "ann") -> AuditRecord:
    return AuditRecord(act=act, at=f"2026-11-29T06:00:{second:02}.000+00:00", subject=subject)


def test_equal_records_are_one_with_a_count_and_both_times() -> None:
    buffer = AuditBuffer()
    for second in (3, 1, 2):
        buffer.note(record("refused", second))
    buffer.note(record("refused", 4, "ben"))
    batch = buffer.take()
    assert batch is not None
    first, second = batch.records
    assert (first.count, first.at[17:19], first.until[17:19]) == (3, "01", "03")
    assert (second.subject, second.count, second.until) == ("ben", 1, "")
    assert buffer.take() is None


def test_a_flood_is_bounded_and_takes_no_room_of_others() -> None:
    buffer = AuditBuffer()
    for number in range(10_000):
        buffer.note(refusal(f"10.0.{number >> 8}.{number & 255}", "request", "token_invalid"))
    buffer.note(record("signed in", 1))
    batch = buffer.take()
    assert batch is not None
    assert len(batch.records) == MAX_REFUSALS + 1
    assert sum(one.count for one in batch.records) + batch.lost == 10_001
    assert MAX_REFUSALS + MAX_OTHERS <= 200


def test_refusals_wait_a_minute_and_others_a_few_seconds() -> None:
    clock = Clock()
    buffer = AuditBuffer(clock)
    buffer.note(record("refused", 1))
    clock.now = REFUSAL_SECONDS - 1
    assert not buffer.is_due
    buffer.note(record("signed in", 1))
    clock.now += OTHER_SECONDS
    assert buffer.is_due
    buffer.take()
    assert not buffer.is_due


def test_what_no_server_took_waits_for_the_next_batch() -> None:
    buffer = AuditBuffer()
    buffer.put_back(AuditBatch(source="a", records=(record("signed in", 1),), lost=4))
    buffer.note(record("signed in", 2))
    batch = buffer.take()
    assert batch is not None
    assert (len(batch.records), batch.records[0].count, batch.lost) == (1, 2, 4)


async def test_a_server_that_is_away_loses_nothing_that_has_room(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tried, taken = asyncio.Event(), list[AuditBatch]()

    async def send(client: object, settings: object, batch: AuditBatch) -> None:
        if not tried.is_set():
            tried.set()
            raise RPCError("away", RPCStatusCode.UNAVAILABLE, b"")
        taken.append(batch)

    monkeypatch.setattr(audit_buffer, "send_batch", send)
    monkeypatch.setattr(audit_buffer, "_LOOK_SECONDS", 0)
    clock = Clock()
    buffer = AuditBuffer(clock)
    sender = AuditSender(buffer, lambda: cast("Any", None), load({}, tmp_path))
    buffer.note(record("signed in", 1))
    clock.now = OTHER_SECONDS
    await tried.wait()
    await sender.close()
    assert [batch.records for batch in taken] == [(record("signed in", 1),)]


AUDIT_RUN = "coterie-audit-desk"


def test_only_the_unchanged_batch_of_a_certified_gateway_is_signed() -> None:
    """By a gateway's key within its life, for this audit run, and when it arrived."""
    batch = AuditBatch(source="a", records=(record("signed in", 1),))

    def signer(batch: AuditBatch, run: str = AUDIT_RUN, at: datetime = NOW) -> str | None:
        return batch_signer(batch, [ROOT.public], run, at)

    def signed_by(key: KeyFile, at: datetime = NOW) -> AuditBatch:
        return signed_batch(batch, key, AUDIT_RUN, 1, at)

    signed = signed_by(GATEWAY)
    assert signer(signed) == "desk"
    assert batch_signer(signed, [STRANGER.public], AUDIT_RUN, NOW) is None
    assert signer(batch) is None
    forged = signed.model_copy(update={"records": (record("signed in", 1, "ben"),)})
    assert signer(forged) is None
    assert signer(signed_by(issue(ROOT, "person", "ann", life=DAY, now=NOW))) is None
    expired = NOW + DAY * 2
    assert signer(signed_by(GATEWAY, expired), at=expired) is None
    assert signer(signed, run="coterie-audit-other") is None
    assert signer(signed, at=NOW + timedelta(minutes=10)) is None


def test_a_signed_batch_that_somebody_sends_again_is_a_copy() -> None:
    batch = AuditBatch(source="a", records=(record("signed in", 1),))
    first, second = (signed_batch(batch, GATEWAY, AUDIT_RUN, number, NOW) for number in (1, 2))
    noted = [
        GatewayNoted(kind="gateway", at=NOW.isoformat(), event=event, batch=one)
        for event, one in enumerate((first, second, batch, first), 5)
    ]
    assert batch_proofs(noted, [ROOT.public], AUDIT_RUN) == ([7], [8])


def begin(second: int, previous: str = "") -> WorkflowHistory:
    event = HistoryEvent(event_id=1, event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED)
    event.event_time.FromSeconds(second)
    event.workflow_execution_started_event_attributes.continued_execution_run_id = previous
    return WorkflowHistory(AUDIT_RUN, [event])


async def test_an_audit_run_that_somebody_closed_is_still_exported_and_named() -> None:
    histories = {"a1": begin(1), "a2": begin(2, "a1"), "b": begin(3)}
    known = Recorded([histories["b"]], histories, latest="b")
    known.workflow_type = AUDIT_WORKFLOW
    known.executions = [("a2", NOW), ("b", NOW + DAY), ("a1", NOW - DAY)]
    found = await gateway_histories(await client_of(known), AUDIT_RUN)
    assert [part.covered.run_id for part in found.parts] == ["a1", "a2", "b"]
    assert begun_again(gateway_entries(found.parts)) == ["b"]
    assert begun_again(gateway_entries(found.parts[:2])) == []


def test_the_audit_run_carries_a_hash_over_all_batches_when_it_continues() -> None:
    batches = [AuditBatch(source=str(number)) for number in range(4)]
    whole = AuditLogWorkflow(AuditLogInput())
    for batch in batches:
        whole.record(batch)
    first = AuditLogWorkflow(AuditLogInput())
    for batch in batches[:2]:
        first.record(batch)
    second = AuditLogWorkflow(first.kept())
    for batch in batches[2:]:
        second.record(batch)
    assert second.kept() == whole.kept()
    assert whole.kept().batches == 4
    changed = AuditLogWorkflow(AuditLogInput())
    for batch in reversed(batches):
        changed.record(batch)
    assert changed.kept().head != whole.kept().head
