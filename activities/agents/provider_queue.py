"""Send the calls of a rate-limited provider to the queue of its own."""

from collections.abc import Mapping

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from coterie.activities.contracts import FailureType, OwnQueue


def refuse_elsewhere(provider: str, queues: Mapping[str, OwnQueue]) -> None:
    """Redirect a call to the queue of its rate-limited provider, before any model call."""
    queue = queues.get(provider)
    if queue is None or not activity.in_activity() or activity.info().task_queue == queue.name:
        return
    raise ApplicationError(
        f"{provider} has a rate limit: calls must go through its queue {queue.name}",
        queue.model_dump(),
        type=FailureType.OWN_QUEUE,
        non_retryable=True,
        category=ApplicationErrorCategory.BENIGN,
    )
