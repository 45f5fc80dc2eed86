"""Admit calls one at a time, so that a worker can be killed with none in progress.

Other calls stay on the server, as if no worker existed.
"""

import asyncio

from temporalio.worker import (
    CustomSlotSupplier,
    SlotMarkUsedContext,
    SlotPermit,
    SlotReleaseContext,
    SlotReserveContext,
)


class Gate(CustomSlotSupplier):
    """Grants a worker's permits for calls one by one."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(0)
        self._out = 0

    @property
    def shut(self) -> bool:
        """Whether no admitted call is in progress."""
        return self._out == 0

    def let_one_through(self) -> None:
        """Let the worker take one call."""
        self._out += 1
        self._free.release()

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:
        """Wait until a call may be taken."""
        await self._free.acquire()
        return SlotPermit()

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:
        """Refuse: calls that come with a workflow task must not bypass the gate."""
        return None

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:
        """Do nothing: the call was counted when it was admitted."""

    def release_slot(self, ctx: SlotReleaseContext) -> None:
        """Record that the call has ended."""
        self._out -= 1
