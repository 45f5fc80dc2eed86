"""`coterie redirect`: send a run to another team when its current one ends."""

from argparse import ArgumentParser, Namespace

from coterie.arguments import add_key, add_run, add_who_and_why, login_name, name_given
from coterie.control.control_commands import redirect
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings
from coterie.signing.own_keys import signer_of


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_run(parser)
    parser.add_argument("team", type=name_given, metavar="TEAM", help="the next team")
    add_who_and_why(parser)
    add_key(parser)


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Send the change to the run, and print whether the run accepts it."""
    by, signer = args.by or login_name(), signer_of(settings, args.key)
    return run_async(redirect(settings, args.run, args.team, by, args.why, signer))
