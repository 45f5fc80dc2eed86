"""`coterie resume`: resume a paused run."""

from argparse import ArgumentParser, Namespace

from coterie.arguments import add_run, add_wait, add_who_and_why, login_name
from coterie.control.control_commands import control
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_run(parser)
    add_who_and_why(parser)
    add_wait(parser, "the run to continue")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Signal the run, and wait for the effect."""
    by = args.by or login_name()
    return run_async(control(settings, args.run, "resume", by, args.why, args.timeout))
