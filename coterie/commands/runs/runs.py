"""`coterie runs`: list runs, by state, team and age."""

from argparse import ArgumentParser, Namespace
from typing import get_args

from coterie.arguments import runs_given
from coterie.commands.run_choice import add_team_and_ages
from coterie.display.short_commands import show_runs
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.runs.run_list import FilterState, RunFilter
from coterie.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--state", choices=get_args(FilterState), help="only runs in this state")
    add_team_and_ages(parser)
    parser.add_argument(
        "--limit", type=runs_given, default=20, metavar="N", help="at most N runs; default: 20"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """List the runs."""
    run_filter = RunFilter(args.state, args.team, args.newer_than, args.older_than)
    return run_async(show_runs(settings, run_filter, args.limit, as_json=args.json))
