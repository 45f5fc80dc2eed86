"""`coterie serve`: runs in a browser and over HTTP; with --mcp, teams as tools of MCP clients."""

from argparse import ArgumentParser, Namespace
from functools import partial

from coterie.activities.extra_packages import install_command
from coterie.arguments import add_model, duration_given
from coterie.failures import CommandError, ExitCode
from coterie.interrupts import run_async
from coterie.logs import to_file
from coterie.mcp_server.served_teams import served_teams
from coterie.settings import Settings

_WAIT_SECONDS = 45.0
"""Many clients give up after 60 s."""
_PORT = 7400
_HOST = "127.0.0.1"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TEAM_OR_FILE",
        help="with --mcp: the teams to offer; default: all teams of the project",
    )
    parser.add_argument(
        "--mcp",
        action="store_true",
        help="speak the Model Context Protocol instead: on standard input and output, or at --port",
    )
    parser.add_argument(
        "--port",
        type=int,
        metavar="PORT",
        help=f"listen at this port, 0 for a free one (default: {_PORT}); with --mcp: speak "
        "streamable HTTP at http://127.0.0.1:PORT/mcp, to many clients",
    )
    parser.add_argument(
        "--host",
        metavar="ADDRESS",
        help=f"listen at this address (default: {_HOST}); others than this machine's need "
        "`access.oidc` and an https `access.public_url` in coterie.yml",
    )
    parser.add_argument(
        "--no-worker",
        action="store_true",
        help="start no worker, also where none runs",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="only print the link, and open no browser"
    )
    parser.add_argument(
        "--key",
        metavar="FILE",
        help="sign the decisions of people with this gateway's key; it is read again when it is "
        "renewed",
    )
    parser.add_argument(
        "--token-env",
        metavar="NAME",
        help="with --mcp --port: the environment variable with the token that clients send "
        "(default: one that the project keeps)",
    )
    parser.add_argument(
        "--wait",
        type=duration_given,
        metavar="DURATION",
        help="with --mcp: how long a call waits for its run before it answers with the run's id "
        f"(default: {_WAIT_SECONDS:g}s)",
    )
    add_model(parser)
    parser.add_argument(
        "--workspace", metavar="DIR", help="with --mcp: the folder that tool functions may touch"
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Serve people and programs, or MCP clients and the runs that they start."""
    _check(args)
    try:
        if args.mcp:
            _serve_mcp(args, settings)
        else:
            _serve_gateway(args, settings)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    return ExitCode.DONE


def _check(args: Namespace) -> None:
    """Refuse options that would have no effect."""
    if args.token_env is not None and args.mcp and args.port is None:
        raise CommandError("--token-env needs --port", ExitCode.CALL_WRONG)
    only_mcp = {
        "TEAM_OR_FILE": bool(args.targets),
        "--token-env": args.token_env is not None,
        "--wait": args.wait is not None,
        "--model": args.model is not None,
        "--workspace": args.workspace is not None,
    }
    only_gateway = {
        "--host": args.host is not None,
        "--no-worker": args.no_worker,
        "--no-browser": args.no_browser,
        "--key": args.key is not None,
    }
    for option, is_given in (only_gateway if args.mcp else only_mcp).items():
        if is_given:
            where = "without --mcp only" if args.mcp else "with --mcp only"
            raise CommandError(f"{option} works {where}; leave it out", ExitCode.CALL_WRONG)


def _serve_gateway(args: Namespace, settings: Settings) -> None:
    try:
        from coterie.gateway.serving import ServeOptions, serve_gateway
    except ModuleNotFoundError as error:
        raise CommandError(
            f"serving runs over HTTP needs the package {error.name}: {install_command('serve')}"
        ) from None
    options = ServeOptions(
        host=args.host or _HOST,
        port=_PORT if args.port is None else args.port,
        starts_worker=not args.no_worker,
        opens_browser=not args.no_browser,
        key=None if args.key is None else settings.cwd / args.key,
    )
    run_async(serve_gateway(settings, options))


def _serve_mcp(args: Namespace, settings: Settings) -> None:
    to_file(settings)
    teams = served_teams(settings, args.targets, args.model, args.workspace)
    try:
        from coterie.gateway.doors.mcp_local_tools import local_tools
        from coterie.mcp_server.client_protocols import serving
    except ModuleNotFoundError as error:
        raise CommandError(
            f"serving teams over MCP needs the package {error.name}: {install_command('mcp')}"
        ) from None
    wait = _WAIT_SECONDS if args.wait is None else args.wait
    tools = partial(local_tools, settings)
    run_async(serving(settings, teams, wait, args.port, args.token_env, tools))
