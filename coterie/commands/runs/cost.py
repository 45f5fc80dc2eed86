"""`coterie cost`: show what a run has used, and what its budgets have left."""

from argparse import ArgumentParser, Namespace

from coterie.arguments import add_run
from coterie.failures import ExitCode
from coterie.inspection.run_costs import show_cost
from coterie.interrupts import run_async
from coterie.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_run(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Ask the run, or read the history of one that has ended."""
    return run_async(show_cost(settings, args.run, as_json=args.json))
