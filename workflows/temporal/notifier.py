"""Notifier: sends notifications while the run continues. Uses Temporal.

A notification never delays a decision and never fails a run. Failed deliveries appear in the trail.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError

from coterie.activities.contracts import HEARTBEAT_TIMEOUT, NOTIFY
from coterie.workflows.core.memory import PendingNotification
from coterie.workflows.core.state import RunState
from coterie.workflows.core.trail import note_undelivered
from coterie.workflows.temporal.pacer import Pacer

_ATTEMPTS = 5
_ATTEMPT = timedelta(seconds=60)
_WITHIN = timedelta(minutes=3)
"""Maximum time for a notification with all its attempts; then the run gives up."""


@dataclass(eq=False)
class Notifier:
    """The notifications of one run."""

    _state: RunState
    _pacer: Pacer
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]], init=False)
    """Kept, so that Python does not collect them."""
    _closing: bool = field(default=False, init=False)

    def notify(self, notification: PendingNotification) -> None:
        """Send a notification without waiting for it."""
        self._state.notifications[notification.message.id] = notification
        self._tasks.add(asyncio.create_task(self._deliver(notification)))

    def notify_again(self) -> None:
        """Send again what is in delivery; receivers know its id."""
        for notification in list(self._state.notifications.values()):
            self.notify(notification)

    async def all_reported(self) -> None:
        """Wait at the run's end for open deliveries; what a pause held back is not sent."""
        self._closing = True
        if self._state.notifications:
            await workflow.wait_condition(lambda: not self._state.notifications)

    async def _deliver(self, notification: PendingNotification) -> None:
        state = self._state
        if state.paused is not None:
            await workflow.wait_condition(lambda: state.paused is None or self._closing)
        if state.paused is None:
            problem = await self._send_notification(notification)
            if problem is not None:
                note_undelivered(state, workflow.time(), notification, problem)
        state.notifications.pop(notification.message.id, None)

    async def _send_notification(self, notification: PendingNotification) -> str | None:
        """Send a notification; return why it failed, or None."""
        message = notification.message
        await self._pacer.call(len(message.model_dump_json()))
        try:
            await workflow.execute_activity(
                NOTIFY,
                message,
                activity_id=notification.id,
                summary=f"{message.channel}: {message.what} of {message.request}",
                start_to_close_timeout=_ATTEMPT,
                schedule_to_close_timeout=_WITHIN,
                heartbeat_timeout=HEARTBEAT_TIMEOUT,
                retry_policy=RetryPolicy(
                    maximum_attempts=_ATTEMPTS, non_retryable_error_types=["PayloadsTooLarge"]
                ),
            )
        except ActivityError as error:
            cause = error.cause
            return cause.message if isinstance(cause, ApplicationError) else "it was lost"
        finally:
            self._pacer.called()
        return None
