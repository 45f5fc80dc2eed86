"""`coterie amend`: change a run's context at its next step."""

from argparse import ArgumentParser, Namespace

from coterie.argument_values import split_settings
from coterie.arguments import add_key, add_run, add_who_and_why, login_name
from coterie.control.control_commands import amend
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings
from coterie.signing.own_keys import signer_of


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_run(parser)
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        required=True,
        metavar="KEY=VALUE",
        help="change one value; the key may be dotted, the value is read as in YAML",
    )
    add_who_and_why(parser)
    add_key(parser)


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Send the change to the run, and print whether the run accepts it."""
    assignments = split_settings(args.settings)
    by, signer = args.by or login_name(), signer_of(settings, args.key)
    return run_async(amend(settings, args.run, assignments, by, args.why, signer))
