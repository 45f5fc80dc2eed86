"""`coterie replay`: whether this code decides a recorded run as it was decided."""

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from coterie.failures import ExitCode
from coterie.settings import Settings
from coterie.terminal import note, say

if TYPE_CHECKING:
    from temporalio.client import WorkflowHistory


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "source", metavar="FILE_OR_RUN", help="a history as JSON, or the id of a run"
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Replay and compare."""
    from coterie.interrupts import run_async

    return run_async(_replay(args.source, settings))


async def _replay(source: str, settings: Settings) -> ExitCode:
    from coterie.logs import quietly
    from coterie.replaying import replay

    quietly(settings)
    done = await replay(await _history(source, settings))
    events = f"{done.events} events of {done.run}"
    if done.differences:
        note(f"{events}: this code decides otherwise than was recorded")
        say("\n".join(f"  {difference}" for difference in done.differences))
        return ExitCode.RUN_FAILED
    if done.recorded is None:
        say(f"{events}: the same calls; the run had not ended, so no result is compared")
    elif done.recorded.result is None:
        say(f"{events}: the same end: {done.recorded.refusal}")
    else:
        result = done.recorded.result
        say(f"{events}: the same calls and the same {result.trail_length} decisions "
            f"(digest {result.trail_digest})")  # fmt: skip
    return ExitCode.DONE


async def _history(source: str, settings: Settings) -> "WorkflowHistory":
    from coterie.connection import open_connection
    from coterie.histories import history_in
    from coterie.runs import Run

    if (settings.cwd / source).is_file() or source.endswith(".json"):
        return await history_in(settings.cwd / source, settings)
    connection = await open_connection(settings)
    return await Run(connection.client, source).history()
