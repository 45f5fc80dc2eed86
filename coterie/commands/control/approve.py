"""`coterie approve`: approve a request of a run."""

from argparse import ArgumentParser, Namespace

from coterie.argument_values import read_value
from coterie.arguments import add_decision
from coterie.commands.decision_call import decision_call
from coterie.display.short_commands import decide
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_decision(parser)
    parser.add_argument(
        "--payload",
        default=None,
        metavar="JSON|@FILE",
        help="the edited payload, for an editable request",
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Send the decision, and print what was recorded."""
    asked = decision_call(args, "approve")
    if args.payload is not None:
        payload = read_value(settings, "--payload", args.payload)
        asked = asked.model_copy(update={"payload": payload})
    return run_async(decide(settings, args.run, args.request, asked))
