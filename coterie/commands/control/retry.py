"""`coterie retry`: retry a failed task, a failed run from where it failed, or many failed runs."""

from argparse import ArgumentParser, Namespace

from coterie.argument_values import split_settings
from coterie.arguments import add_fork, add_key, add_who_and_why, login_name, name_given
from coterie.commands.run_choice import add_many_runs, chosen_many
from coterie.control.forks import retry
from coterie.display.bulk_command import act_on_many
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings
from coterie.signing.own_keys import signer_of
from coterie.workflows.core.messages import RetryInput

_MANY = "--failed"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_many_runs(parser, _MANY, "every failed run")
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
    for_one = {
        "--id": args.id is not None,
        "--set": bool(args.settings),
        "--key": args.key is not None,
    }
    many = chosen_many(args, _MANY, "failed", for_one=for_one)
    by = args.by or login_name()
    if many is not None:
        return run_async(act_on_many(settings, "retry", many, by, args.why, confirmed=args.yes))
    retry_input = RetryInput(task=args.task, by=by, why=args.why)
    written, signer = split_settings(args.settings), signer_of(settings, args.key)
    return run_async(retry(settings, args.run, retry_input, written, args.id, signer))
