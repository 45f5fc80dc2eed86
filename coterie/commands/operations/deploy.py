"""`coterie deploy`: give teams a deployed version on the server; roll back, remove."""

from argparse import ArgumentParser, Namespace

from coterie.arguments import at_most
from coterie.deployed.deploy_command import apply, remove, roll_back, show_plan
from coterie.failures import CommandError, ExitCode
from coterie.interrupts import run_async
from coterie.settings import Settings
from coterie.workflows.core.registry_messages import MAX_CHANGE_WHY


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TEAM_OR_FILE",
        help="what to deploy; default: the project's own teams",
    )
    parser.add_argument("--plan", action="store_true", help="only show what would change")
    parser.add_argument(
        "--exit-code", action="store_true", help="with --plan: exit with 1 if something would"
    )
    parser.add_argument(
        "--rollback",
        metavar="TEAM[@VERSION]",
        help="make this version the current one; default: the one before",
    )
    parser.add_argument(
        "--remove", metavar="TEAM", help="let the name start no deployed version any more"
    )
    parser.add_argument(
        "--why", type=at_most(MAX_CHANGE_WHY), default="", help="the reason, kept with the version"
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Deploy, roll back or remove."""
    others = sum(map(bool, (args.targets, args.rollback, args.remove)))
    if others > 1:
        raise CommandError("name teams to deploy, or --rollback TEAM, or --remove TEAM")
    if args.plan and (args.rollback or args.remove):
        raise CommandError("--plan shows what a deployment of files would change")
    if args.exit_code and not args.plan:
        raise CommandError("--exit-code belongs to --plan")
    if args.rollback:
        return run_async(roll_back(settings, args.rollback, args.why))
    if args.remove:
        return run_async(remove(settings, args.remove, args.why))
    if args.plan:
        return run_async(show_plan(settings, args.targets, exit_code=args.exit_code))
    return run_async(apply(settings, args.targets, args.why))
