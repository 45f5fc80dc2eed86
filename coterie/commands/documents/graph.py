"""`coterie graph`: draw a team, or the path that a run took through it."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Literal

from coterie.arguments import add_model
from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located
from coterie.dsl.analysis.findings import with_needs
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.plan import Plan
from coterie.dsl.visible import visible
from coterie.failures import CommandError, ExitCode
from coterie.graph.drawing.svg import svg_of
from coterie.graph.mermaid import mermaid_of
from coterie.graph.picture import picture
from coterie.graph.run_graph import SeenRun, seen_history, seen_run
from coterie.graph.taken_path import Walk
from coterie.interrupts import run_async
from coterie.output_files import write_output
from coterie.replay.rebuilt_run import NotFollowed
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.storage.histories import history_in
from coterie.terminal import note, say

Format = Literal["mermaid", "svg"]
_SUFFIXES: dict[str, Format] = {".svg": "svg", ".mmd": "mermaid", ".mermaid": "mermaid"}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "target",
        metavar="TEAM_OR_FILE_OR_RUN",
        help="a file, the name of a team, the id of a run, or a run's history as JSON",
    )
    parser.add_argument(
        "--format", choices=("mermaid", "svg"), help="default: by the output's name, else mermaid"
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="write to this file; default: standard output"
    )
    add_model(parser)


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Draw the graph."""
    output: str | None = args.output
    chosen = _format(args.format, output)
    plan, walk = _plan_and_walk(args.target, args.model, settings)
    text = visible(_text(plan, walk, chosen))
    if output is None:
        say(text.rstrip("\n"))
        return ExitCode.DONE
    write_output(settings.cwd, output, text)
    note(f"{output} written")
    return ExitCode.DONE


def _format(format_option: Format | None, output: str | None) -> Format:
    suffix = Path(output or "").suffix.lower()
    suffix_format = _SUFFIXES.get(suffix)
    if suffix and suffix_format is None and format_option is None:
        raise CommandError(
            f"{output}: the suffix must be one of {', '.join(sorted(_SUFFIXES))}; for another "
            "name, choose the format with --format"
        )
    if format_option is not None and suffix_format not in (None, format_option):
        raise CommandError(
            f"--format {format_option} does not fit the name {output}; remove one of them"
        )
    return format_option or suffix_format or "mermaid"


def _plan_and_walk(
    target: str, model: str | None, settings: Settings
) -> "tuple[Plan, Walk | None]":
    """Find the target: a file or a team, else a run."""
    if target.endswith(".json"):
        past_run = _run_of_file(target, settings)
        return past_run.plan, past_run.walk
    catalog = Catalog(settings)
    try:
        located = catalog.locate(target)
    except InvalidDocument as error:
        past_run = _seen_run(target, settings, error)
        return past_run.plan, past_run.walk
    compiled = compile_located(catalog, located, model, only_shown=True)
    return with_needs(compiled).plan, None


def _run_of_file(target: str, settings: Settings) -> "SeenRun":
    async def rebuilt() -> "SeenRun | NotFollowed":
        return await seen_history(await history_in(settings.cwd / target, settings))

    past_run = run_async(rebuilt())
    if isinstance(past_run, NotFollowed):
        raise CommandError(
            f"{target} is the history of another workflow, or of another version: {past_run.cause}"
        )
    return past_run


def _seen_run(target: str, settings: Settings, unknown: InvalidDocument) -> "SeenRun":
    """Read the run of this id; `unknown` explains why it is neither a team nor a file."""

    async def seen() -> "SeenRun":
        connection = await open_connection(settings)
        return await seen_run(connection.client, target)

    try:
        return run_async(seen())
    except CommandError as error:
        problem = unknown.problems[0]
        message = f"{problem.message}{f' ({problem.fix})' if problem.fix else ''}"
        raise CommandError(f"{message}; as a run: {error}") from None


def _text(plan: Plan, walk: "Walk | None", format_name: Format) -> str:
    if format_name == "svg":
        return svg_of(picture(plan), walk)
    return mermaid_of(picture(plan), walk)
