"""Python runs this when it starts: a worker stops where only its own code could be interrupted.

The bank holds a payment after its task has reached the worker and before the worker looks at it
(`delivered`), or after the tool has returned and before the worker reports it (`returned`).
Heartbeats go on meanwhile: nothing but the kill ends the attempt. A worker also has room for the
tools of all that is held.
"""

import asyncio
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

_BANK = Path("bank.txt")
_ORDER = re.compile(rb'"order": ?"([^"]+)"')
_RECEIPT = re.compile(rb"receipt of ([\w/.-]+)")
_HEARTBEAT_SECONDS = 2
_MAX_CHILDREN = 64


async def _pass_point(address: str, point: str, order: str) -> None:
    host, _, port = address.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    path = f"/pass?point={point}&order={quote(order, safe='')}"
    writer.write(f"GET {path} HTTP/1.0\r\n\r\n".encode())
    await reader.read()
    writer.close()


async def _hold(worker: Any, token: bytes, point: str, order: bytes) -> None:
    from temporalio.bridge.proto import ActivityHeartbeat

    address = await asyncio.to_thread(_BANK.read_text)
    passing = asyncio.create_task(_pass_point(address, point, order.decode()))
    while not (await asyncio.wait({passing}, timeout=_HEARTBEAT_SECONDS))[0]:
        worker.record_activity_heartbeat(ActivityHeartbeat(task_token=token))


def _patch_worker() -> None:
    from temporalio.bridge import worker as bridge
    from temporalio.worker import _activity  # pyright: ignore[reportPrivateUsage]

    from coterie.activities.user_code.child_pool import UserCode

    worker: Any = bridge.Worker
    activities: Any = _activity._ActivityWorker  # pyright: ignore[reportPrivateUsage]
    user_code: Any = UserCode.__init__
    handle, complete = activities._handle_start_activity_task, worker.complete_activity_task

    async def handle_start(self: Any, token: bytes, start: Any, running: Any) -> None:
        found = [_ORDER.search(payload.data) for payload in start.input]
        if start.activity_type == "call_function" and found and found[0]:
            await _hold(self._bridge_worker(), token, "delivered", found[0][1])
        await handle(self, token, start, running)

    async def complete_task(self: Any, completion: Any) -> None:
        found = _RECEIPT.search(completion.result.completed.result.data)
        if found is not None:
            await _hold(self, completion.task_token, "returned", found[1])
        await complete(self, completion)

    user_code.__kwdefaults__["max_children"] = _MAX_CHILDREN
    activities._handle_start_activity_task = handle_start
    worker.complete_activity_task = complete_task


if "worker" in sys.orig_argv:
    _patch_worker()
