"""`coterie watch`: follow a run to its end without changing it."""

import sys
from argparse import ArgumentParser, Namespace

from coterie.arguments import add_run
from coterie.commands.screen_option import add_screen, chosen_screen
from coterie.display.watch_command import watch_events, watch_run, watch_screen
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_run(parser)
    parser.add_argument(
        "--verbose", action="store_true", help="print every event of the run with its reason"
    )
    parser.add_argument(
        "--events", action="store_true", help="print the events that teams name, and nothing else"
    )
    parser.add_argument("--plain", action="store_true", help="print plain lines even in a terminal")
    add_screen(parser)


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Follow the run to its end."""
    screen = chosen_screen(args, settings)
    if screen is not None:
        return run_async(watch_screen(settings, args.run, screen))
    live = sys.stdout.isatty() and sys.stderr.isatty() and not args.plain
    if args.events:
        return run_async(watch_events(settings, args.run))
    return run_async(watch_run(settings, args.run, live=live, verbose=args.verbose))
