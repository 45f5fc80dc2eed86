"""`coterie fork`: start another run from a point of an old one."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace

from coterie.argument_values import split_settings
from coterie.arguments import add_fork, add_run, add_who_and_why, login_name
from coterie.control.forks import fork
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings
from coterie.workflows.core.messages import ForkInput


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_run(parser)
    point = parser.add_mutually_exclusive_group(required=True)
    point.add_argument(
        "--at",
        metavar="TEAM#VISIT",
        help="the visit where it starts, as in `coterie why` and in the trail, such as review#2",
    )
    point.add_argument(
        "--message",
        type=_number,
        metavar="N",
        help="in a session, the number of the message that the new run waits for; it keeps the "
        "earlier ones",
    )
    add_fork(parser)
    add_who_and_why(parser)


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Start the new run, and print where it starts."""
    fork_input = ForkInput(
        run=args.run,
        at=args.at,
        message=args.message,
        by=args.by or login_name(),
        why=args.why,
    )
    return run_async(fork(settings, fork_input, split_settings(args.settings), args.id))


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not the number of a message, from 1")
    return int(text)
