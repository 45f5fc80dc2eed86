"""Lets calls through one at a time, so that a worker can be ended with none in progress.

Calls that were not let through stay on the server, as they do when no worker is there.
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
    """A worker's right to take calls, given out one by one."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(0)
        self._out = 0

    @property
    def shut(self) -> bool:
        """No call that was let through is still in progress."""
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
        """Calls that come with a task of the workflow do not go around the gate."""
        return None

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:
        """Nothing to do: the call was counted when it was let through."""

    def release_slot(self, ctx: SlotReleaseContext) -> None:
        """The call is over."""
        self._out -= 1
