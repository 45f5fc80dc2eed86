"""The records of a gateway on their way to the audit run: few, bounded, and never in the way.

Equal records that wait are one with a count. So a flood of refusals is a few lines, and what has no
room is only counted. Sending happens beside the requests: a server that is away refuses nobody.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from temporalio.client import Client
from temporalio.service import RPCError

from coterie.audit.gateway_audit import signed_batch
from coterie.audit.sent_records import (
    MAX_ABOUT,
    audit_run,
    moment,
    send_batch,
    this_process,
)
from coterie.dsl.visible import shortened_text
from coterie.failures import CommandError
from coterie.runs.own_workflows import ForeignWorkflow
from coterie.settings import Settings
from coterie.signing.key_files import read_key
from coterie.workflows.core.audit_messages import AuditBatch, AuditRecord
from coterie.workflows.core.senders import MAX_ADDRESS

MAX_REFUSALS = 50
"""Different ones that wait."""
MAX_OTHERS = 150
REFUSAL_SECONDS = 60.0
"""From the first refusal that waits to its batch."""
OTHER_SECONDS = 5.0
_LOOK_SECONDS = 1.0
_LAST_SECONDS = 2.0
_log = logging.getLogger("coterie")


class _Key(NamedTuple):
    """What equal records have in common."""

    act: str
    subject: str
    method: str
    address: str
    door: str
    about: str
    code: str


class AuditBuffer:
    """The records that wait."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without records."""
        self._clock = clock
        self._refusals: dict[_Key, AuditRecord] = {}
        self._others: dict[_Key, AuditRecord] = {}
        self._due = float("inf")
        self._lost = 0

    def note(self, record: AuditRecord) -> None:
        """Keep a record until it is sent; count it if there is no room."""
        is_refusal = record.act == "refused"
        waiting, maximum = (
            (self._refusals, MAX_REFUSALS) if is_refusal else (self._others, MAX_OTHERS)
        )
        key = _key_of(record)
        before = waiting.get(key)
        if before is None and len(waiting) >= maximum:
            self._lost += record.count
        else:
            waiting[key] = record if before is None else _folded_into(before, record)
        self._due = min(
            self._due, self._clock() + (REFUSAL_SECONDS if is_refusal else OTHER_SECONDS)
        )

    @property
    def is_due(self) -> bool:
        """Whether a batch should be sent now."""
        return self._clock() >= self._due

    def take(self) -> AuditBatch | None:
        """Return all records that wait, oldest first; None if there are none."""
        records = sorted(
            (*self._refusals.values(), *self._others.values()), key=lambda record: record.at
        )
        lost = self._lost
        self._refusals, self._others, self._lost, self._due = {}, {}, 0, float("inf")
        if not records and not lost:
            return None
        return AuditBatch(source=this_process(), records=tuple(records), lost=lost)

    def put_back(self, batch: AuditBatch) -> None:
        """Keep the records of a batch that no server took, as far as there is room."""
        for record in batch.records:
            self.note(record)
        self._lost += batch.lost
        self._due = self._clock() + OTHER_SECONDS


def _key_of(record: AuditRecord) -> _Key:
    return _Key(
        record.act,
        record.subject,
        record.method,
        record.address,
        record.door,
        record.about,
        record.code,
    )


def _folded_into(before: AuditRecord, record: AuditRecord) -> AuditRecord:
    both = (before, record)
    until = max(one.until or one.at for one in both)
    first = min(both, key=lambda one: one.at)
    return first.model_copy(update={"count": before.count + record.count, "until": until})


class AuditSender:
    """Sends the records of a buffer, beside everything else."""

    def __init__(
        self,
        buffer: AuditBuffer,
        client: Callable[[], Client],
        settings: Settings,
        key: Path | None = None,
    ) -> None:
        """Take the buffer, the server, and the key that signs batches, if there is one."""
        self._buffer = buffer
        self._client = client
        self._settings = settings
        self._key = key
        self._number = 0
        self._is_taken = True
        """Whether a server took the latest batch: the log has the first failure alone."""
        self._sending = asyncio.create_task(self._send_when_due())

    async def close(self) -> None:
        """Send what waits, for a short time, and stop."""
        self._sending.cancel()
        await asyncio.wait({self._sending})
        try:
            async with asyncio.timeout(_LAST_SECONDS):
                await self._send()
        except TimeoutError:
            pass

    async def _send_when_due(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if self._buffer.is_due:
                await self._send()

    async def _send(self) -> None:
        batch = self._buffer.take()
        if batch is None:
            return
        try:
            await send_batch(self._client(), self._settings, self._with_signature(batch))
            self._is_taken = True
        except (RPCError, ForeignWorkflow) as error:
            self._buffer.put_back(batch)
            if self._is_taken:
                _log.warning("the server takes no records of the audit log: %s", error)
            self._is_taken = False

    def _with_signature(self, batch: AuditBatch) -> AuditBatch:
        """Sign a batch; without a valid key it is sent as it is."""
        if self._key is None:
            return batch
        try:
            self._number += 1
            run, now = audit_run(self._settings), datetime.now(UTC)
            return signed_batch(batch, read_key(self._key), run, self._number, now)
        except CommandError:
            return batch


def refusal(address: str, about: str, code: str) -> AuditRecord:
    """Return the record of a request that showed no identity, or a wrong one."""
    about, address = shortened_text(about, MAX_ABOUT), shortened_text(address, MAX_ADDRESS)
    return AuditRecord(act="refused", at=moment(), address=address, about=about, code=code)
