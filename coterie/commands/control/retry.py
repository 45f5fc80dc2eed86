"""`coterie retry`: retry a failed task, a failed run from where it failed, or many failed runs."""

from argparse import ArgumentParser, Namespace

from coterie.argument_values import split_settings
from coterie.arguments import add_fork, add_key, add_who_and_why, age_given, login_name, name_given
from coterie.control.forks import retry
from coterie.display.bulk_command import retry_failed
from coterie.failures import CommandError, ExitCode
from coterie.interrupts import run_async
from coterie.runs.run_list import RunFilter
from coterie.settings import Settings
from coterie.signing.own_keys import signer_of
from coterie.workflows.core.messages import RetryInput


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("run", nargs="?", metavar="RUN", help="the run's id; or --failed")
    parser.add_argument(
        "task",
        nargs="?",
        type=name_given,
        metavar="TASK",
        help="the task; default: the only one that waits",
    )
    parser.add_argument(
        "--failed", action="store_true", help="instead of RUN: every failed run that matches"
    )
    parser.add_argument("--team", help="with --failed: only runs of this team")
    parser.add_argument(
        "--newer-than",
        type=age_given,
        metavar="AGE",
        help="with --failed: only runs that started within this time, such as 2h or 3d",
    )
    parser.add_argument(
        "--older-than",
        type=age_given,
        metavar="AGE",
        help="with --failed: only runs that started before this time, such as 2h or 3d",
    )
    parser.add_argument(
        "--yes", action="store_true", help="with --failed: begin without a question"
    )
    add_fork(parser)
    add_who_and_why(parser)
    add_key(parser)


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Send the request to the run, and print whether the run accepts it."""
    _check(args)
    by = args.by or login_name()
    if args.failed:
        wanted = RunFilter("failed", args.team, args.newer_than, args.older_than)
        return run_async(retry_failed(settings, wanted, by, args.why, confirmed=args.yes))
    retry_input = RetryInput(task=args.task, by=by, why=args.why)
    written, signer = split_settings(args.settings), signer_of(settings, args.key)
    return run_async(retry(settings, args.run, retry_input, written, args.id, signer))


def _check(args: Namespace) -> None:
    """Refuse options that would have no effect."""
    if args.failed == (args.run is not None):
        raise CommandError("name a RUN, or choose many with --failed")
    only_one = {
        "--id": args.id is not None,
        "--set": bool(args.settings),
        "--key": args.key is not None,
    }
    only_many = {
        "--team": args.team is not None,
        "--newer-than": args.newer_than is not None,
        "--older-than": args.older_than is not None,
        "--yes": args.yes,
    }
    for option, is_given in (only_one if args.failed else only_many).items():
        if is_given:
            where = "for one RUN only" if args.failed else "with --failed only"
            raise CommandError(f"{option} works {where}; leave it out")
