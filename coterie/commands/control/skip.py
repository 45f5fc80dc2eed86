"""`coterie skip`: skip a task, now or when it starts."""

from argparse import ArgumentParser, Namespace

from coterie.argument_values import read_value
from coterie.arguments import add_key, add_run, add_who_and_why, login_name, name_given
from coterie.control.control_commands import skip
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings
from coterie.signing.own_keys import signer_of
from coterie.workflows.core.messages import SkipInput


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_run(parser)
    parser.add_argument(
        "task", type=name_given, metavar="TASK", help="team/task, or the task of the current team"
    )
    parser.add_argument(
        "--value", default=None, metavar="JSON|@FILE", help="the data of the skipped task"
    )
    add_who_and_why(parser)
    add_key(parser)


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Send the request to the run, and print whether the run accepts it."""
    value = None if args.value is None else read_value(settings, "--value", args.value)
    skip_input = SkipInput(task=args.task, value=value, by=args.by or login_name(), why=args.why)
    return run_async(skip(settings, args.run, skip_input, signer_of(settings, args.key)))
