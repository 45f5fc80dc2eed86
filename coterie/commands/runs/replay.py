"""`coterie replay`: check that this code makes the same decisions as a recorded run."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace

from coterie.failures import CommandError, ExitCode
from coterie.gateway.console.upgrades.upgrade_page import upgrade_html
from coterie.interrupts import run_async
from coterie.logs import quietly
from coterie.output_files import write_output
from coterie.replay.replay import Comparison, RunReplayed, replayed_file
from coterie.replay.replay_report import (
    differences_text,
    replayed_run,
    row,
    same_text,
    total,
)
from coterie.runs.run_list import open_executions
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.storage.histories import history_in
from coterie.terminal import note, say


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "sources", nargs="*", metavar="FILE_OR_RUN", help="histories as JSON, or ids of runs"
    )
    parser.add_argument("--open", action="store_true", help="replay every open run")
    parser.add_argument(
        "--query",
        metavar="FILTER",
        help="with --open: only runs that match this Temporal list filter",
    )
    parser.add_argument(
        "--limit", type=_count, metavar="N", help="with --open: only the latest N runs"
    )
    parser.add_argument(
        "--html", metavar="FILE", help="also write the results as a page in one HTML file"
    )


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} is not a number of runs, such as 100")
    return int(text)


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Replay the runs, and compare the decisions."""
    if args.open == bool(args.sources):
        raise CommandError("name a history file or a run, or replay all open runs with --open")
    if not args.open and (args.query is not None or args.limit is not None):
        raise CommandError("--query and --limit filter the open runs; add --open")
    if args.open:
        results = run_async(_replay_open(args.query, args.limit, settings))
    else:
        results = run_async(_replay(args.sources, settings))
    html: str | None = args.html
    if html is not None:
        write_output(settings.cwd, html, upgrade_html([*map(replayed_run, results)]))
    return ExitCode.DONE if all(result.same for result in results) else ExitCode.RUN_FAILED


async def _replay(sources: list[str], settings: Settings) -> list[RunReplayed]:
    quietly(settings)
    results: list[RunReplayed] = []
    for source in sources:
        result = await _replay_source(source, settings)
        results.append(result)
        if result.same:
            say(same_text(result))
        else:
            note(f"{result.events} events of {result.run}: this code decides differently now")
            say(differences_text(result))
    return results


async def _replay_source(source: str, settings: Settings) -> "RunReplayed":
    if (settings.cwd / source).is_file() or source.endswith(".json"):
        return await replayed_file(await history_in(settings.cwd / source, settings))
    connection = await open_connection(settings)
    return await Comparison(connection.client).run(source)


async def _replay_open(
    query: str | None, limit: int | None, settings: Settings
) -> list[RunReplayed]:
    quietly(settings)
    client = (await open_connection(settings)).client
    results: list[RunReplayed] = []
    async for result in Comparison(client).open_runs(open_executions(client, query, limit)):
        say(row(result))
        results.append(result)
    note(total(results))
    return results
