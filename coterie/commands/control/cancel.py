"""`coterie cancel`: stop a run permanently, after its cleanup."""

from argparse import ArgumentParser, Namespace

from coterie.arguments import add_run, add_wait, add_who_and_why, login_name
from coterie.control.control_commands import cancel
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_run(parser)
    add_who_and_why(parser)
    add_wait(parser, "the cleanup and the end")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Cancel the run, and wait for its end."""
    by = args.by or login_name()
    return run_async(cancel(settings, args.run, by, args.why, args.timeout))
