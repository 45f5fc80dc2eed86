"""`coterie runs`: list runs, by state, team and age."""

from argparse import ArgumentParser, Namespace

from coterie.arguments import age_given, runs_given
from coterie.display.short_commands import show_runs
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.runs.run_list import RunFilter
from coterie.settings import Settings

_STATES = (
    "running",
    "waiting",
    "paused",
    "stopping",
    "no_worker",
    "completed",
    "failed",
    "cancelled",
    "terminated",
    "timed_out",
    "open",
    "closed",
)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--state", choices=_STATES, help="only runs in this state")
    parser.add_argument("--team", help="only runs of this team, or runs that are in it now")
    parser.add_argument(
        "--newer-than",
        type=age_given,
        metavar="AGE",
        help="only runs that started within this time, such as 2h or 3d",
    )
    parser.add_argument(
        "--older-than",
        type=age_given,
        metavar="AGE",
        help="only runs that started before this time, such as 2h or 3d",
    )
    parser.add_argument(
        "--limit", type=runs_given, default=20, metavar="N", help="at most N runs; default: 20"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """List the runs."""
    run_filter = RunFilter(args.state, args.team, args.newer_than, args.older_than)
    return run_async(show_runs(settings, run_filter, args.limit, as_json=args.json))
