"""`coterie result`: wait for the end of a run and show how it ended."""

from argparse import ArgumentParser, Namespace

from coterie.arguments import add_run, add_wait
from coterie.display.short_commands import show_result
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_run(parser)
    add_wait(parser, "the end")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Wait for the end, and print it."""
    return run_async(show_result(settings, args.run, args.timeout, as_json=args.json))
