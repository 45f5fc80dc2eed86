"""`coterie approve`: approve a request of a run."""

from argparse import ArgumentParser, Namespace

from coterie.arguments import add_decision, login_name, read_value
from coterie.display.short_commands import decide
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings
from workflows.core.messages import DecideInput


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
    asked = DecideInput(
        id="",
        decision="approve",
        by=args.by or login_name(),
        comment=args.comment,
        digest=args.digest,
    )
    if args.payload is not None:
        payload = read_value(settings, "--payload", args.payload)
        asked = asked.model_copy(update={"payload": payload})
    return run_async(decide(settings, args.run, args.request, asked))
