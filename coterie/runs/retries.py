"""List the calls of a run that failed and are being retried, as the server reports them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from temporalio.api.enums.v1 import TimeoutType
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.client import WorkflowExecutionDescription

from coterie.activities.contracts.call_suffixes import step_of_id
from coterie.dsl.visible import shortened_text

_MAX_ERROR_LENGTH = 300
_LOST = (
    "its worker was lost (the server counts each attempt that it hands out, also one that reached "
    "a dead worker)"
)


@dataclass(frozen=True, slots=True)
class PendingRetry:
    """A call whose last attempt failed."""

    call: str
    """Its id."""
    step: str
    """`team/path`."""
    attempt: int
    """The current or next attempt."""
    maximum: int
    """Maximum attempts; 0 for no limit."""
    error: str
    """Why the previous attempt failed."""
    at: datetime | None
    """When the next attempt starts; None while it runs."""
    lost: bool = False
    """Whether the worker of the previous attempt was lost."""

    def describe(self, now: datetime) -> str:
        """Describe the retry: which attempt, when, and why."""
        of = f" of {self.maximum}" if self.maximum else ""
        seconds = 0 if self.at is None else round((self.at - now).total_seconds())
        when = f" in {seconds} s" if seconds > 0 else " now"
        why = _LOST if self.lost else self.error
        return f"{self.step}: attempt {self.attempt}{of}{when}, because {why}"


def retries_of(
    described: WorkflowExecutionDescription, steps: Mapping[str, str]
) -> tuple[PendingRetry, ...]:
    """List the calls being retried, in the order of their ids."""
    return pending_retries(described.raw_description.pending_activities, steps)


def pending_retries(
    pending: Iterable[PendingActivityInfo], steps: Mapping[str, str]
) -> tuple[PendingRetry, ...]:
    """List the calls being retried among those in progress, in the order of their ids.

    Args:
        pending: The activities in progress.
        steps: `{id of an activity: its step}`, as the run reports them.
    """
    return tuple(_retries(sorted(pending, key=lambda activity: activity.activity_id), steps))


def _retries(
    pending: Iterable[PendingActivityInfo], steps: Mapping[str, str]
) -> Iterator[PendingRetry]:
    for activity in pending:
        if activity.attempt > 1 and activity.HasField("last_failure"):
            failure = activity.last_failure
            kind = failure.application_failure_info.type
            error = f"{kind}: {failure.message}" if kind else failure.message
            is_lost = (
                failure.timeout_failure_info.timeout_type == TimeoutType.TIMEOUT_TYPE_HEARTBEAT
            )
            waits = activity.HasField("next_attempt_schedule_time")
            at = activity.next_attempt_schedule_time.ToDatetime(UTC) if waits else None
            yield PendingRetry(
                activity.activity_id,
                step_of_id(activity.activity_id, steps),
                activity.attempt,
                activity.maximum_attempts,
                shortened_text(error, _MAX_ERROR_LENGTH),
                at,
                is_lost,
            )
