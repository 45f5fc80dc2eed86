"""What an attempt's number counts is said where a worker was lost."""

from datetime import UTC, datetime

import pytest
from temporalio.api.enums.v1 import TimeoutType
from temporalio.api.workflow.v1 import PendingActivityInfo

from coterie.activities.contracts.call_suffixes import step_of_id
from coterie.runs.retries import pending_retries

STEPS = {"0001.work.ask.t2": "work/each/0/ask"}
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_attempts_that_only_a_lost_worker_had_are_explained() -> None:
    lost = PendingActivityInfo(activity_id="0001.work.ask.t2", attempt=3, maximum_attempts=6)
    timeout = lost.last_failure.timeout_failure_info
    timeout.timeout_type = TimeoutType.TIMEOUT_TYPE_HEARTBEAT
    broken = PendingActivityInfo(
        activity_id="0002.work.ask.t1.compact", attempt=2, maximum_attempts=3
    )
    broken.last_failure.message = "it broke"
    assert [one.describe(NOW) for one in pending_retries([lost, broken], STEPS)] == [
        "work/each/0/ask: attempt 3 of 6 now, because its worker was lost (the server counts each "
        "attempt that it hands out, also one that reached a dead worker)",
        "work/ask: attempt 2 of 3 now, because it broke",
    ]


@pytest.mark.parametrize(
    ("id", "step"),
    [
        ("0001.plan.write", "plan/write"),
        ("0002.plan.write.r1", "plan/write"),
        ("0003.plan.act.t2.compact", "plan/act"),
        ("0006.plan.act.t12.again.f1", "plan/act"),
        ("0007.plan.write.b3", "plan/write"),
        ("0007.plan.write.unwanted", "plan/write"),
        ("0009.plan.write.q1.again.again", "plan/write"),
        ("0010.plan.search@2.1", "plan/search@2.1"),
        ("0011.plan.search@2.1.t3", "plan/search@2.1"),
    ],
)
def test_a_call_is_addressed_like_its_step_also_if_the_run_does_not_name_it(
    id: str, step: str
) -> None:
    assert step_of_id(id, {}) == step
    assert step_of_id(id, {id: "plan/each/0/find"}) == "plan/each/0/find"
