"""`coterie record`: write a test file from a finished run."""

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from shlex import quote

from coterie.arguments import add_run
from coterie.documents.catalog import Catalog
from coterie.documents.file_kinds import is_test
from coterie.failures import CommandError, ExitCode
from coterie.interrupts import run_async
from coterie.logs import quietly
from coterie.output_files import write_output
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.storage.large_values import storage_of
from coterie.terminal import note, say
from coterie.testing.files.case_reader import read_tests, team_beside
from coterie.testing.files.case_writer import yaml_of
from coterie.testing.recording.recorder import RecordedRun, recorded, recorded_run
from coterie.text.problems import counted


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_run(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="the file to write, NAME.test.yml; it must not exist yet",
    )
    parser.add_argument(
        "--team",
        metavar="TEAM_OR_FILE",
        help="the team to test; default: NAME.yml beside the output, else the team of the run",
    )
    parser.add_argument(
        "--workspace",
        metavar="DIR",
        help=(
            "run tool functions on a copy of this folder; default: replay their results from the "
            "run"
        ),
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Read the run, write the file, and check that it can run."""
    file = settings.cwd / args.output
    if not is_test(file):
        raise CommandError(f"{args.output} must have the name of a test file: NAME.test.yml")
    if file.exists():
        raise CommandError(f"{args.output} already exists; name another file")
    if not file.parent.is_dir():
        raise CommandError(f"the folder of {args.output} does not exist")
    recording = run_async(_recorded_run(args.run, settings))
    _write(args, settings, file, recording)
    return ExitCode.DONE


async def _recorded_run(id: str, settings: Settings) -> "RecordedRun":
    quietly(settings)
    client = (await open_connection(settings)).client
    return await recorded_run(client, id, storage_of(settings).blobs)


def _write(args: Namespace, settings: Settings, file: Path, recording: "RecordedRun") -> None:
    team = _team(args.team, recording.plan.name, settings, file)
    workspace = None
    if args.workspace is not None:
        workspace = os.path.relpath(settings.cwd / args.workspace, file.parent)
    document = recorded(recording, team=team, workspace=workspace)
    functions_note = (
        "tool functions run on a copy of it"
        if workspace
        else "results of tool functions are replayed too"
    )
    head = f"Recorded from the run {args.run} of {recording.plan.name}; {functions_note}."
    write_output(settings.cwd, args.output, yaml_of(document, head))
    tests = read_tests(settings, file)
    case = tests.cases[0].document
    message_count = f", {counted(len(case.messages), 'message')}" if case.messages else ""
    say(
        f"{args.output}: {counted(len(document.answers), 'answer')}, "
        f"{counted(len(document.functions), 'result')} of tool functions, "
        f"{counted(len(case.decisions), 'decision')}{message_count}"
    )
    note(f"run it with: coterie test {quote(args.output)}")


def _team(team: str | None, plan: str, settings: Settings, file: Path) -> str:
    """Return the team as the file refers to it: by name, else by its relative path.

    A run does not know its file, and a document may have another name than its file.

    Raises:
        CommandError: No team has the name of the run's plan.
        InvalidDocument: The team that the command names does not exist.
    """
    catalog = Catalog(settings)
    if team is not None:
        if (settings.cwd / team).is_file():
            return os.path.relpath(settings.cwd / team, file.parent)
        return catalog.locate(team).name
    beside = team_beside(file)
    if beside is not None:
        return beside.name
    if catalog.named(plan) is None:
        raise CommandError(
            f"no file beside {file.name} has the team of the run, and no team is named {plan!r}; "
            "name its file with `--team FILE`"
        )
    return plan
