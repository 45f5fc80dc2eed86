"""Pause, resume and cancel a run: what the commands and the terminal UI send."""

from typing import Literal

from coterie.failures import CommandError, ExitCode
from coterie.runs.run_client import Run
from coterie.workflows.core.messages import Control


async def send_control(run: Run, what: Literal["pause", "resume"], by: str, why: str) -> None:
    """Pause or resume a run.

    Raises:
        CommandError: The run is being cancelled, has ended, or the server does not answer.
    """
    if what == "pause" and await run.is_being_cancelled():
        raise CommandError(
            f"run {run.id!r} is being cancelled; its cleanup cannot be paused",
            ExitCode.RUN_FAILED,
        )
    await run.signal(what, Control(by=by, why=why))


async def send_cancel(run: Run, by: str, why: str) -> None:
    """Cancel a run; raises like `Run.cancel`."""
    await run.cancel(f"by {by}: {why}" if why else f"by {by}")
