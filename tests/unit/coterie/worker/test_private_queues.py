"""Whether somebody polls a queue, of those that a server still lists."""

import os
import socket
import subprocess

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.taskqueue.v1 import PollerInfo

from coterie.runs.task_queues import any_alive

NOW = 1_000_000.0
HERE = socket.gethostname()


def poller(identity: str, seconds_ago: float) -> PollerInfo:
    return PollerInfo(identity=identity, last_access_time=Timestamp(seconds=int(NOW - seconds_ago)))


def ended() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@pytest.mark.parametrize(
    ("identity", "seconds_ago", "alive"),
    [
        (f"{os.getpid()}@{HERE}", 59, True),
        (f"{os.getpid()}@{HERE}", 300, False),
        ("1@elsewhere", 59, True),
        ("1@elsewhere", 300, False),
        ("a worker of a fleet", 59, True),
        (f"{ended()}@{HERE}", 1, False),
    ],
    ids=["ours", "ours, long ago", "elsewhere", "elsewhere, long ago", "no process", "ended"],
)
def test_a_poller_counts_while_its_process_may_live(
    identity: str, seconds_ago: float, alive: bool
) -> None:
    assert any_alive([poller(identity, seconds_ago)], NOW) is alive
    assert not any_alive([], NOW)
