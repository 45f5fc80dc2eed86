"""`coterie worker`: serve runs until interrupted."""

from argparse import ArgumentParser, Namespace

from coterie.arguments import duration_given
from coterie.documents.catalog import Catalog
from coterie.documents.trusted_catalog import trusted_catalog
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings
from coterie.worker.worker_service import serve


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--workspace", metavar="DIR", help="the folder that tool functions may touch"
    )
    parser.add_argument(
        "--grace",
        type=duration_given,
        default=60.0,
        metavar="DURATION",
        help="how long calls in progress may continue after a stop (default: 60s); another "
        "worker repeats longer calls",
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Serve runs; only the project's configuration decides what they may touch."""
    trusted = trusted_catalog(settings, Catalog(settings), args.workspace)
    try:
        return run_async(serve(settings, trusted, args.grace))
    except KeyboardInterrupt:
        return ExitCode.DONE
