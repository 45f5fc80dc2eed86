"""`coterie status`: show where a run stands."""

from argparse import ArgumentParser, Namespace

from coterie.arguments import add_run
from coterie.display.short_commands import show_status
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_run(parser)
    parser.add_argument("--trail", action="store_true", help="also print what happened and why")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Ask the run, or print how it ended."""
    return run_async(show_status(settings, args.run, trail=args.trail, as_json=args.json))
