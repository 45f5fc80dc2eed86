"""Records wait for the audit run in bounded room: a flood is a few lines, the rest a count."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
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
from coterie.audit.gateway_audit import batch_signer, signed_batch
from coterie.settings import load
from coterie.workflows.audit_log import AuditLogWorkflow
from coterie.workflows.core.audit_messages import AuditBatch, AuditedAct, AuditLogInput, AuditRecord
from tests.unit.coterie.audit.test_audit_chain import GATEWAY, ROOT, STRANGER


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


def test_only_the_unchanged_batch_of_a_certified_gateway_is_signed() -> None:
    batch = AuditBatch(source="a", records=(record("signed in", 1),))
    signed = signed_batch(batch, GATEWAY)
    assert batch_signer(signed, [ROOT.public]) == "desk"
    assert batch_signer(signed, [STRANGER.public]) is None
    assert batch_signer(batch, [ROOT.public]) is None
    forged = signed.model_copy(update={"records": (record("signed in", 1, "ben"),)})
    assert batch_signer(forged, [ROOT.public]) is None


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
