"""`coterie serve --mcp`: offer teams as tools to MCP clients."""

from argparse import ArgumentParser, Namespace

from coterie.activities.extra_packages import install_command
from coterie.arguments import add_model, duration_given
from coterie.failures import CommandError, ExitCode
from coterie.interrupts import run_async
from coterie.logs import to_file
from coterie.mcp_server.served_teams import served_teams
from coterie.settings import Settings

_WAIT_SECONDS = 45.0
"""Many clients give up after 60 s."""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TEAM_OR_FILE",
        help="the teams to offer; default: all teams of the project",
    )
    parser.add_argument(
        "--mcp",
        action="store_true",
        required=True,
        help="speak the Model Context Protocol: on standard input and output, or at --port",
    )
    parser.add_argument(
        "--port",
        type=int,
        metavar="PORT",
        help="speak streamable HTTP at http://127.0.0.1:PORT/mcp instead, to many clients; "
        "0 takes a free port",
    )
    parser.add_argument(
        "--token-env",
        metavar="NAME",
        help="with --port: the environment variable with the token that clients send "
        "(default: one that the project keeps)",
    )
    parser.add_argument(
        "--wait",
        type=duration_given,
        default=_WAIT_SECONDS,
        metavar="DURATION",
        help="how long a call waits for its run before it answers with the run's id "
        f"(default: {_WAIT_SECONDS:g}s)",
    )
    add_model(parser)
    parser.add_argument("--workspace", metavar="DIR", help="the folder that skills may touch")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Serve clients, and the runs that they start."""
    if args.token_env is not None and args.port is None:
        raise CommandError("--token-env needs --port", ExitCode.CALL_WRONG)
    to_file(settings)
    teams = served_teams(settings, args.targets, args.model, args.workspace)
    try:
        from coterie.mcp_server.client_protocols import serving
    except ModuleNotFoundError as error:
        raise CommandError(
            f"serving teams over MCP needs the package {error.name}: {install_command('mcp')}"
        ) from None
    try:
        run_async(serving(settings, teams, args.wait, args.port, args.token_env))
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    return ExitCode.DONE
