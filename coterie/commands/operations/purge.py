"""`coterie purge`: list everything that Coterie leaves, or delete the project's folder of state."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from coterie.doctor.leftovers import Leftovers, delete_state, leftovers_of
from coterie.doctor.server_leftovers import ServerLeftovers, server_leftovers
from coterie.failures import ExitCode
from coterie.gateway.identity.access_settings import load_access, tokens_file
from coterie.interrupts import run_async
from coterie.server.connection import connect
from coterie.settings import LISTINGS_FILE, Settings
from coterie.terminal import note, say
from coterie.text.columns import aligned


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--dry-run", action="store_true", help="list it, and delete nothing")
    what.add_argument(
        "--yes",
        action="store_true",
        help="stop the embedded server and delete .coterie with all its runs; nothing else",
    )
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """List, or delete."""
    if args.yes:
        deleted = delete_state(settings)
        note(f"deleted {settings.state}" if deleted else "there is no .coterie here")
        return ExitCode.DONE
    found = leftovers_of(settings)
    files = _files(settings)
    remote = run_async(_remote(settings, settings.address)) if settings.address else None
    if args.json:
        data = {
            "project": found.model_dump(mode="json"),
            "files": files,
            "server": None if remote is None else remote.model_dump(mode="json"),
        }
        say(json.dumps(data, indent=2))
        return ExitCode.DONE
    for line in (*_project(found), *_beside(files), *_server(remote)):
        say(line)
    return ExitCode.DONE


async def _remote(settings: Settings, address: str) -> ServerLeftovers:
    client = await connect(settings, address)
    return await server_leftovers(client, address, settings.task_queue)


def _files(settings: Settings) -> list[str]:
    """Return files outside of `.coterie` that commands of ours have written."""
    tokens = tokens_file(load_access(settings), settings)
    own = () if tokens.is_relative_to(settings.state) else (tokens,)
    return [str(file) for file in (*own, settings.project / LISTINGS_FILE) if file.is_file()]


def _project(found: Leftovers) -> Iterator[str]:
    yield f"{found.folder}  (coterie purge --yes deletes it)"
    rows = [
        (f"  {entry.name}", f"{entry.files:,}", f"{entry.bytes / 1e6:,.1f} MB", entry.what)
        for entry in found.entries
    ]
    yield from aligned(rows, right=(1, 2)) if rows else ("  nothing",)
    yield "processes"
    if found.server_pid is not None:
        yield f"  {found.server_pid}  the embedded server (coterie server --stop)"
    for call in found.calls:
        yield f"  long call {call}"
    if found.server_pid is None and not found.calls:
        yield "  none that outlives its command"


def _beside(files: list[str]) -> Iterator[str]:
    if files:
        yield "files outside of it, which stay"
        yield from (f"  {file}" for file in files)


def _server(remote: ServerLeftovers | None) -> Iterator[str]:
    if remote is None:
        return
    yield f"Temporal at {remote.address}, namespace {remote.namespace}, which stays"
    rows = [
        (f"  {each.type}", f"{each.open:,} open", f"{each.closed:,} closed", each.what)
        for each in remote.executions
    ]
    yield from aligned(rows, right=(1, 2))
    yield from (f"  schedule {id}" for id in remote.schedules)
    yield f"  search attributes {', '.join(remote.attributes)}"
