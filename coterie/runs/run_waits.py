"""Wait for what a run does, say when no worker serves it, and stop after a time limit."""

import asyncio
from collections.abc import Awaitable
from shlex import quote
from typing import TypeVar

from coterie.failures import CommandError, ExitCode
from coterie.runs.call_errors import NoWorker, Unanswered, has_ended
from coterie.runs.run_client import Run
from coterie.terminal import note
from coterie.workflows.core.views import Standing

_PROBE_SECONDS = 4.0
"""Timeout of a probe: a live worker answers in a fraction of it."""
_BETWEEN_PROBES = 15.0
_BETWEEN_LOOKS = 0.3

T = TypeVar("T")


async def wait_for(run: Run, awaited: Awaitable[T], within: float | None, still: str) -> T:
    """Wait, and say when no worker serves the run.

    Args:
        run: The run.
        awaited: What the run does at last.
        within: Seconds; None for no limit.
        still: What holds when the time is over, for the message.

    Raises:
        CommandError: The time is over; or as `awaited`.
    """
    watch = asyncio.create_task(_say_when_unserved(run))
    try:
        async with asyncio.timeout(within):
            return await awaited
    except TimeoutError:
        raise CommandError(
            f"{still}; wait on: `coterie result {quote(run.id)}`", ExitCode.NOT_YET
        ) from None
    finally:
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)


async def standing_reached(run: Run, wanted: frozenset[Standing]) -> Standing:
    """Wait until the run stands as wanted, and return how.

    Raises:
        CommandError: It has ended, or is being cancelled.
    """
    while True:
        try:
            state = (await run.status()).state
        except Unanswered:
            state = None
        if state in wanted:
            return state
        if state in ("stopping", "done", "cancelled"):
            raise has_ended(run.id)
        await asyncio.sleep(_BETWEEN_LOOKS)


async def _say_when_unserved(run: Run) -> None:
    """Ask the run now and then whether a worker answers; say each time that this changes."""
    is_served = True
    while True:
        try:
            async with asyncio.timeout(_PROBE_SECONDS):
                await run.status()
            answers = True
        except TimeoutError:
            answers = False
        except NoWorker:
            answers = False
        except CommandError:
            answers = is_served  # the server does not answer, or another query waits
        if is_served and not answers:
            note(
                f"no worker serves run {run.id}; in the project that started it, start `coterie "
                f"worker` or resume it with `coterie run --resume {quote(run.id)}`"
            )
        elif answers and not is_served:
            note(f"a worker serves run {run.id} again")
        is_served = answers
        await asyncio.sleep(_BETWEEN_PROBES)
