"""What an attempt's number counts is said where a worker was lost."""

from datetime import UTC, datetime

from temporalio.api.enums.v1 import TimeoutType
from temporalio.api.workflow.v1 import PendingActivityInfo

from coterie.runs.retries import pending_retries

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_attempts_that_only_a_lost_worker_had_are_explained() -> None:
    lost = PendingActivityInfo(activity_id="0001.work.ask", attempt=3, maximum_attempts=6)
    timeout = lost.last_failure.timeout_failure_info
    timeout.timeout_type = TimeoutType.TIMEOUT_TYPE_HEARTBEAT
    broken = PendingActivityInfo(activity_id="0002.work.ask", attempt=2, maximum_attempts=3)
    broken.last_failure.message = "it broke"
    assert [one.describe(NOW) for one in pending_retries([lost, broken])] == [
        "work.ask: attempt 3 of 6 now, because its worker was lost (the server counts each attempt "
        "that it hands out, also one that reached a dead worker)",
        "work.ask: attempt 2 of 3 now, because it broke",
    ]
