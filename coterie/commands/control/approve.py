"""`coterie approve`: approve requests of a run."""

from argparse import ArgumentParser, Namespace

from coterie.argument_values import read_value
from coterie.commands.decision_call import add_decisions, run_decision
from coterie.dsl.values import Json
from coterie.failures import ExitCode
from coterie.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_decisions(parser)
    parser.add_argument(
        "--payload",
        default=None,
        metavar="JSON|@FILE",
        help="the edited payload, for an editable request",
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Send the decisions, and print what was recorded."""
    payload: Json = {}
    if args.payload is not None:
        payload = {"payload": read_value(settings, "--payload", args.payload)}
    return run_decision(args, settings, "approve", payload)
