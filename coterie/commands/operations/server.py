"""`coterie server`: start, show or stop the project's embedded Temporal server."""

import json
from argparse import ArgumentParser, Namespace

from coterie.failures import ExitCode
from coterie.interrupts import run_async
from coterie.server.embedded_server import EmbeddedServer, ServerMoved, supervise
from coterie.server.server_process import ServerRecord
from coterie.settings import Settings
from coterie.terminal import note, say


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--stop", action="store_true", help="stop it; its runs stay on disk")
    what.add_argument(
        "--status", action="store_true", help="report whether it runs; exits with 1 if it does not"
    )
    what.add_argument(
        "--set-aside",
        action="store_true",
        help="stop it, and move its database into a folder, so that the next start begins anew",
    )
    what.add_argument(
        "--foreground",
        action="store_true",
        help="run it in the foreground: restart it when it dies, stop it on Ctrl-C",
    )
    parser.add_argument("--json", action="store_true", help="print address, UI and state as JSON")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Start the server, or do what the options request."""
    server = EmbeddedServer(settings)
    if settings.address is not None:
        note(f"COTERIE_ADDRESS is set: other commands use {settings.address}, not this server")
    if args.stop:
        note("the embedded server is stopped" if server.stop() else "no embedded server runs here")
        return ExitCode.DONE
    if args.set_aside:
        return _set_aside(server)
    if args.status:
        return _status(server, as_json=args.json)
    record = server.ensure()
    _show(record, running=True, as_json=args.json)
    return _stay(server, record) if args.foreground else ExitCode.DONE


def _set_aside(server: EmbeddedServer) -> ExitCode:
    folder = server.set_database_aside()
    if folder is None:
        note("no embedded server has run here")
    else:
        note(f"the database is in {folder}; to use it again, stop the server and move it back")
    return ExitCode.DONE


def _status(server: EmbeddedServer, *, as_json: bool) -> ExitCode:
    record = server.record()
    healthy = server.healthy()
    if as_json or (healthy and record is not None):
        _show(record, running=healthy, as_json=as_json)
    else:
        note("no embedded server runs here; start it with `coterie server`")
    return ExitCode.DONE if healthy else ExitCode.RUN_FAILED


def _show(record: ServerRecord | None, *, running: bool, as_json: bool) -> None:
    if as_json:
        data: dict[str, object] = {"running": running}
        if record is not None:
            data |= {"address": record.address, "ui": record.ui, "pid": record.pid}
        say(json.dumps(data, indent=2))
    elif record is not None:
        say(f"Temporal  {record.address}")
        say(f"UI        {record.ui}")
        say(f"for the temporal CLI: export TEMPORAL_ADDRESS={record.address}")


def _stay(server: EmbeddedServer, record: ServerRecord) -> ExitCode:
    note("press Ctrl-C to stop it")
    try:
        run_async(_supervise_server(server, record))
    except KeyboardInterrupt:
        server.stop()
        note("the embedded server is stopped")
        return ExitCode.INTERRUPTED
    return ExitCode.DONE


async def _supervise_server(server: EmbeddedServer, record: ServerRecord) -> None:
    while True:
        try:
            await supervise(server, record, lambda: note("the server died and was restarted"))
        except ServerMoved as moved:
            note(str(moved))
            record = moved.record
