"""`coterie versions`: list the deployed versions of teams."""

from argparse import ArgumentParser, Namespace

from coterie.deployed.versions_text import show_versions
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "team",
        nargs="?",
        metavar="TEAM[@VERSION]",
        help="the versions of one team, or the text of one version; default: all teams",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Print them."""
    return run_async(show_versions(settings, args.team, as_json=args.json))
