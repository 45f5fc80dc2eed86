"""`coterie retry`: retry a failed task, or a failed run from where it failed."""

from argparse import ArgumentParser, Namespace

from coterie.argument_values import split_settings
from coterie.arguments import add_fork, add_key, add_run, add_who_and_why, login_name, name_given
from coterie.control.forks import retry
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings
from coterie.signing.own_keys import signer_of
from coterie.workflows.core.messages import RetryInput


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_run(parser)
    parser.add_argument(
        "task",
        nargs="?",
        type=name_given,
        metavar="TASK",
        help="the task; default: the only one that waits",
    )
    add_fork(parser)
    add_who_and_why(parser)
    add_key(parser)


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Send the request to the run, and print whether the run accepts it."""
    retry_input = RetryInput(task=args.task, by=args.by or login_name(), why=args.why)
    written, signer = split_settings(args.settings), signer_of(settings, args.key)
    return run_async(retry(settings, args.run, retry_input, written, args.id, signer))
