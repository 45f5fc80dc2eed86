"""`coterie cancel`: stop a run permanently, after its cleanup; or many runs."""

from argparse import ArgumentParser, Namespace

from coterie.arguments import add_wait, add_who_and_why, login_name
from coterie.commands.run_choice import add_many_runs, chosen_many
from coterie.control.control_commands import cancel
from coterie.display.bulk_command import act_on_many
from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings

_MANY = "--open"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_many_runs(parser, _MANY, "every open run")
    add_who_and_why(parser)
    add_wait(parser, "the cleanup and the end")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Cancel the run, and wait for its end; or many, until each has the request."""
    for_one = {
        "--no-wait": args.timeout == 0,
        "--timeout": args.timeout is not None,
    }
    many = chosen_many(args, _MANY, "open", for_one=for_one)
    by = args.by or login_name()
    if many is not None:
        return run_async(act_on_many(settings, "cancel", many, by, args.why, confirmed=args.yes))
    return run_async(cancel(settings, args.run, by, args.why, args.timeout))
