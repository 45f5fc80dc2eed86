"""`coterie mcp`: sign in at MCP servers that want it, for the workers of this project."""

import asyncio
import sys
import webbrowser
from argparse import ArgumentParser, Namespace

from coterie.documents.catalog import Catalog
from coterie.documents.trusted_catalog import trusted_catalog
from coterie.failures import CommandError, ExitCode
from coterie.gateway.browser_link import has_display
from coterie.interrupts import run_async
from coterie.settings import Settings
from coterie.terminal import is_interactive, note, say
from coterie.worker.server_sign_in import log_in, login_of
from coterie.worker.sign_in_files import SignInFile


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("action", choices=("login", "logout"), help="what to do")
    parser.add_argument("server", metavar="SERVER", help="a server of `worker.mcp_servers`")
    parser.add_argument(
        "--port",
        type=int,
        default=0,
        metavar="PORT",
        help="where the browser comes back, on this machine; default: a free port",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="only print the link, and open no browser"
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Sign in, or forget the sign-in."""
    if args.action == "logout":
        if not SignInFile(settings, args.server).delete():
            raise CommandError(f"nobody is signed in at {args.server!r}")
        note(f"the sign-in at {args.server} is deleted; revoke it at the server, too")
        return ExitCode.DONE
    trusted = trusted_catalog(settings, Catalog(settings), None)
    login_of(trusted, args.server)

    async def show(link: str) -> None:
        say(f"open {link}")
        display = is_interactive() and has_display(settings.environment, sys.platform)
        if display and not args.no_browser:
            await asyncio.to_thread(webbrowser.open, link)

    try:
        run_async(log_in(trusted, settings, args.server, args.port, show))
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    note(f"signed in at {args.server}; workers of this project renew it by themselves")
    return ExitCode.DONE
