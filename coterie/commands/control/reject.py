"""`coterie reject`: reject requests of a run."""

from argparse import ArgumentParser, Namespace

from coterie.commands.decision_call import add_decisions, run_decision
from coterie.failures import ExitCode
from coterie.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_decisions(parser)


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Send the decisions, and print what was recorded."""
    return run_decision(args, settings, "reject", {})
