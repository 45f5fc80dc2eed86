"""`coterie pending`: list the requests that wait for a person."""

from argparse import ArgumentParser, Namespace

from coterie.display.short_commands import show_pending
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("run", nargs="?", metavar="RUN", help="a run's id; default: all open runs")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Ask the runs."""
    return run_async(show_pending(settings, args.run, as_json=args.json))
