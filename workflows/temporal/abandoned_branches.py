"""Abandoned branches: stopped for the next history, and then no longer needed in this one.

What such a branch has begun must end as if it had been stopped in its wait: `finally` steps run,
requests close, batches are cancelled, conversations continue with something else. So it comes back
to its location in the state, as it would in the next history, and is stopped there.
"""

import asyncio
from contextvars import ContextVar

from coterie.workflows.core.scope import Job

_IS_ABANDONED: ContextVar[bool] = ContextVar("IS_ABANDONED", default=False)
"""Whether the branch of this coroutine comes back only to be stopped."""


async def abandon(job: Job) -> None:
    """Let a branch come back to its location, where its first effect stops it.

    Run it as a task of its own: what it sets must not hold for its caller.
    """
    _IS_ABANDONED.set(True)
    await job()


def take_abandonment() -> bool:
    """Return whether this coroutine has been abandoned, once: then its cleanup may have effects."""
    is_abandoned = _IS_ABANDONED.get()
    if is_abandoned:
        _IS_ABANDONED.set(False)
    return is_abandoned


def stop_if_abandoned() -> None:
    """Stop an abandoned branch where it would wait, or begin something.

    Raises:
        CancelledError: it is abandoned.
    """
    if take_abandonment():
        raise asyncio.CancelledError
