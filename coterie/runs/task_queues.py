"""Check whether a worker polls a task queue."""

import os
import socket
import time
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError

_POLL_SECONDS = 75.0
"""A poll lasts a minute at most: a longer silence means that the poller is gone."""
_SOME_SECONDS = timedelta(seconds=5)
_MORE_SECONDS = timedelta(seconds=10)


async def is_served(client: Client, task_queue: str) -> bool:
    """Return whether a worker polls the queue; True if the server does not say."""
    try:
        return bool(await _pollers(client, task_queue, _SOME_SECONDS))
    except RPCError:
        return True


async def is_polled(client: Client, task_queue: str) -> bool:
    """Return whether a worker that still exists polls the queue.

    Raises:
        RPCError: The server does not say.
    """
    return any_alive(await _pollers(client, task_queue, _MORE_SECONDS), time.time())


async def _pollers(client: Client, task_queue: str, within: timedelta) -> list[PollerInfo]:
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=task_queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    answer = await client.workflow_service.describe_task_queue(request, timeout=within)
    return list(answer.pollers)


def any_alive(pollers: Iterable[PollerInfo], now: float) -> bool:
    """Return whether a queue is polled: a server lists pollers for minutes after they have ended.

    Args:
        pollers: As listed by the server.
        now: Unix time in seconds.
    """
    return any(
        now - poller.last_access_time.ToSeconds() < _POLL_SECONDS and not _has_ended(poller)
        for poller in pollers
    )


def _has_ended(poller: PollerInfo) -> bool:
    """Return whether the poller was a process of this machine that has ended."""
    process, _, machine = poller.identity.partition("@")
    if machine != socket.gethostname() or not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return _is_zombie(process)


def _is_zombie(process: str) -> bool:
    """Return whether the process has ended without being reaped; Linux only."""
    try:
        stat_line = Path("/proc", process, "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat_line.rpartition(")")[2].split()[:1] == ["Z"]
