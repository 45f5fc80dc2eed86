"""`coterie redirect`: send a run to another team when its current one ends."""

from argparse import ArgumentParser, Namespace

from coterie.arguments import add_run, login_name
from coterie.failures import ExitCode
from coterie.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_run(parser)
    parser.add_argument("team", metavar="TEAM", help="the team that comes next")
    parser.add_argument("--by", default=None, help="who says so; the login name unless given")
    parser.add_argument("--why", default="", help="the reason, kept in the trail")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Ask the run, and say whether it takes it."""
    from coterie.controlling import redirect
    from coterie.interrupts import run_async

    return run_async(redirect(settings, args.run, args.team, args.by or login_name(), args.why))
