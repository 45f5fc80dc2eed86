"""`coterie show`: show one request in full, or every call of a step."""

from argparse import ArgumentParser, Namespace

from coterie.arguments import add_run
from coterie.display.show_command import show_request
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_run(parser)
    parser.add_argument(
        "request",
        nargs="?",
        metavar="REQUEST",
        help="the request; default: the only one that waits; or TEAM/STEP#N, or a call of a model "
        "such as search@2.1: the prompts, answers, attempts and cost of its calls",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Ask the run."""
    return run_async(show_request(settings, args.run, args.request, as_json=args.json))
