"""`coterie report`: write the page of a run as one HTML file."""

from argparse import ArgumentParser, Namespace

from coterie.failures import ExitCode
from coterie.gateway.console.offline_report import report_of_comparison, report_of_run
from coterie.interrupts import run_async
from coterie.logs import quietly
from coterie.output_files import write_output
from coterie.settings import Settings
from coterie.terminal import note, say


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("run", metavar="RUN_OR_FILE", help="the run's id, or its history as JSON")
    parser.add_argument(
        "--compare",
        metavar="RUN_OR_FILE",
        help="write the page that compares the run with this one instead: path, context, cost, "
        "decisions, answers",
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="write to this file; default: standard output"
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Read the run's history, and write its page."""
    quietly(settings)
    other: str | None = args.compare
    if other is None:
        page = run_async(report_of_run(settings, args.run))
    else:
        page = run_async(report_of_comparison(settings, args.run, other))
    output: str | None = args.output
    if output is None:
        say(page.rstrip("\n"))
        return ExitCode.DONE
    write_output(settings.cwd, output, page)
    note(f"{output} written")
    return ExitCode.DONE
