"""`coterie verify`: prove who decided what in a run, from its history alone."""

from argparse import ArgumentParser, Namespace
from collections.abc import AsyncGenerator, Sequence

from temporalio.client import WorkflowHistory

from coterie.failures import CommandError, ExitCode
from coterie.inspection.verified_decisions import VerifiedAct, VerifiedRun, verify_history
from coterie.interrupts import run_async
from coterie.logs import quietly
from coterie.runs.histories.history_links import links
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.storage.histories import history_in
from coterie.terminal import note, say
from coterie.text.problems import counted
from coterie.workflows.signatures.verification import is_public_key


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "sources", nargs="+", metavar="FILE_OR_RUN", help="histories as JSON, or ids of runs"
    )
    parser.add_argument(
        "--root",
        action="append",
        required=True,
        metavar="KEY",
        help="the public root key that you trust; again for an older one",
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Print each decision with its people, and fail if one is not proved."""
    for key in args.root:
        if not is_public_key(key):
            raise CommandError(
                f"--root {key!r} is no public key; `coterie keys init` prints one for coterie.yml"
            )
    return run_async(_verify(args.sources, args.root, settings))


async def _verify(sources: Sequence[str], roots: Sequence[str], settings: Settings) -> ExitCode:
    quietly(settings)
    code = ExitCode.DONE
    for source in sources:
        async for history in _histories(source, settings):
            result = await verify_history(history, roots)
            _print(result)
            if not result.is_proved:
                code = ExitCode.RUN_FAILED
    return code


async def _histories(source: str, settings: Settings) -> AsyncGenerator[WorkflowHistory]:
    """Yield the parts of a run, oldest first; a file is one part."""
    if (settings.cwd / source).is_file() or source.endswith(".json"):
        yield await history_in(settings.cwd / source, settings)
        return
    connection = await open_connection(settings)
    async for history in links(connection.client, source):
        yield history


def _print(result: VerifiedRun) -> None:
    if result.problem:
        note(f"{result.run}: NOT PROVED: {result.problem}")
        return
    for act in result.acts:
        say(f"{result.run}: {_line(act)}")
    failed = sum(bool(act.problem) for act in result.acts)
    note(f"{result.run}: {counted(len(result.acts), 'decision')}, {failed} not proved")


def _line(act: VerifiedAct) -> str:
    if act.problem:
        return f"{act.what}: NOT PROVED: {act.problem}"
    parts = [", ".join(act.people), act.note]
    return f"{act.what}: {'; '.join(part for part in parts if part)}"
