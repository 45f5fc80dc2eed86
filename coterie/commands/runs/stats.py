"""`coterie stats`: show how teams, strategies, decisions and tools did in the newest runs."""

from argparse import ArgumentParser, Namespace
from typing import get_args

from coterie.arguments import age_given, runs_given
from coterie.failures import ExitCode
from coterie.inspection.stats_command import show_stats
from coterie.interrupts import run_async
from coterie.rendering.stats_text import StatsPart
from coterie.runs.run_list import RunFilter
from coterie.settings import Settings

_DEFAULT_RUNS = 100


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "part", nargs="?", choices=get_args(StatsPart), help="only this table; default: all"
    )
    parser.add_argument("--team", help="only runs of this team")
    parser.add_argument(
        "--newer-than",
        type=age_given,
        metavar="AGE",
        help="only runs that started within this time, such as 2h or 3d",
    )
    parser.add_argument(
        "--limit",
        type=runs_given,
        default=_DEFAULT_RUNS,
        metavar="N",
        help=f"read at most N runs, newest first; default: {_DEFAULT_RUNS}",
    )
    parser.add_argument("--json", action="store_true", help="print all tables as JSON")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Print the statistics."""
    run_filter = RunFilter(team=args.team, newer_than=args.newer_than)
    return run_async(show_stats(settings, args.part, run_filter, args.limit, as_json=args.json))
