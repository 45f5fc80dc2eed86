"""Whether a cancelled call is unwanted for good, or only cut off with its worker."""

import pytest
from temporalio import activity
from temporalio.testing import ActivityEnvironment

from coterie.activities.attempts import is_unwanted


@pytest.mark.parametrize(
    ("details", "unwanted"),
    [
        (activity.ActivityCancellationDetails(cancel_requested=True), True),
        (activity.ActivityCancellationDetails(worker_shutdown=True), False),
        (
            activity.ActivityCancellationDetails(cancel_requested=True, worker_shutdown=True),
            False,
        ),
        (activity.ActivityCancellationDetails(timed_out=True), False),
    ],
)
def test_a_call_is_unwanted_if_its_run_cancels_it_and_its_worker_goes_on(
    details: activity.ActivityCancellationDetails, unwanted: bool
) -> None:
    environment = ActivityEnvironment()
    environment.cancel(cancellation_details=details)
    assert environment.run(is_unwanted) is unwanted


def test_a_call_in_progress_is_wanted_and_one_outside_of_activities_is_not() -> None:
    assert ActivityEnvironment().run(is_unwanted) is False
    assert is_unwanted() is True
