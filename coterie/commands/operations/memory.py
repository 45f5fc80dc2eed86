"""`coterie memory`: list what agents remember, and forget it for good."""

import json
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import UTC, datetime
from typing import get_args

from coterie.activities.os_errors import reason_of
from coterie.activities.tool_functions.knowledge.memory.memory_store import (
    MAX_LISTED,
    ListedMemory,
    MemoryFilter,
    Owner,
)
from coterie.activities.tool_functions.knowledge.memory.opened_memory import (
    has_memories,
    opened_memory,
)
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.function_failures import FunctionFailure
from coterie.documents.catalog import Catalog
from coterie.documents.trusted_catalog import trusted_catalog
from coterie.dsl.model.memory_terms import MemoryScope
from coterie.dsl.visible import one_line, shortened_text, visible_name
from coterie.failures import CommandError, ExitCode
from coterie.settings import Settings
from coterie.terminal import note, say
from coterie.text.columns import aligned
from coterie.worker.surroundings import workspace_of

_DEFAULT_LIMIT = 100
_MAX_TEXT = 60


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("action", choices=("list", "forget"), help="what to do")
    parser.add_argument("ids", nargs="*", metavar="ID", help="only entries with these ids")
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument("--user", metavar="NAME", help="only the memory of this user")
    whose.add_argument("--team", metavar="NAME", help="only the memory of this team")
    whose.add_argument("--scope", choices=get_args(MemoryScope), help="only memories of this scope")
    parser.add_argument("--topic", metavar="TOPIC", help="only entries of this topic")
    parser.add_argument(
        "--expired",
        action="store_true",
        help="only entries that have expired; others leave them out",
    )
    parser.add_argument(
        "--all", action="store_true", help="with forget and nothing else: forget everything"
    )
    parser.add_argument(
        "--limit",
        type=_limit,
        metavar="N",
        help=f"with list: at most N entries, the newest; default: {_DEFAULT_LIMIT}",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--workspace", metavar="DIR", help="the workspace of the memory")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """List or forget."""
    chosen = _filter(args)
    workspace = workspace_of(trusted_catalog(settings, Catalog(settings), args.workspace), settings)
    try:
        if args.action == "forget":
            _forget(workspace, chosen, args)
        else:
            _list(workspace, chosen, args)
    except FunctionFailure as failure:
        raise CommandError(str(failure)) from None
    except OSError as error:
        raise CommandError(f"the memories cannot be reached: {reason_of(error)}") from None
    return ExitCode.DONE


def _filter(args: Namespace) -> MemoryFilter:
    scope, name = args.scope, None
    if args.user is not None:
        scope, name = "user", args.user
    elif args.team is not None:
        scope, name = "team", args.team
    if args.action == "forget" and args.limit is not None:
        raise CommandError("`--limit` is for `list`: `forget` deletes all that the rest chooses")
    if args.action == "list" and args.all:
        raise CommandError("`--all` is for `forget`: `list` without a choice shows all memories")
    chosen = MemoryFilter(scope, name, args.topic, tuple(args.ids), args.expired)
    if args.action == "forget" and args.all != (chosen == MemoryFilter()):
        raise CommandError(
            "say what to forget: ids, --user NAME, --team NAME, --scope, --topic, --expired, or "
            "--all alone; `coterie memory list` takes the same and shows what they choose"
        )
    return chosen


def _list(workspace: Workspace, chosen: MemoryFilter, args: Namespace) -> None:
    found: list[ListedMemory] = []
    limit: int = args.limit or _DEFAULT_LIMIT
    if has_memories(workspace):
        with opened_memory(workspace, "coterie memory") as store:
            found = store.entries(chosen, limit, time.time())
    if args.json:
        say(json.dumps([_fields(entry) for entry in found], indent=2, ensure_ascii=False))
        return
    if not found:
        note("nothing is remembered there")
        return
    head = ("MEMORY", "TOPIC", "ID", "STORED", "EXPIRES", "TEXT")
    for line in aligned([head, *map(_cells, found)]):
        say(line)
    if len(found) == limit:
        note(f"these are the newest {limit}; --limit shows more")


def _forget(workspace: Workspace, chosen: MemoryFilter, args: Namespace) -> None:
    count, location = 0, None
    if has_memories(workspace):
        with opened_memory(workspace, "coterie memory") as store:
            count, location = store.forget(chosen, time.time()), store.location
    if args.json:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        receipt = {"forgotten": count, "at": at, "store": location, "chosen": chosen._asdict()}
        say(json.dumps(receipt, indent=2, ensure_ascii=False))
    else:
        say(f"forgot {count} {'entry' if count == 1 else 'entries'}")


def _fields(entry: ListedMemory) -> dict[str, str | bool | None]:
    return {
        "scope": entry.owner.scope,
        "owner": entry.owner.name,
        "topic": entry.topic,
        "id": entry.id,
        "text": entry.text,
        "stored": _moment(entry.stored),
        "expires": None if entry.expires is None else _moment(entry.expires),
        "untrusted": entry.untrusted,
        "run": entry.run,
    }


def _cells(entry: ListedMemory) -> tuple[str, ...]:
    expires = "never" if entry.expires is None else _moment(entry.expires)
    text = shortened_text(one_line(entry.text), _MAX_TEXT)
    id = visible_name(entry.id)
    return (_owner(entry.owner), entry.topic, id, _moment(entry.stored), expires, text)


def _owner(owner: Owner) -> str:
    return visible_name(f"{owner.scope} {owner.name}") if owner.name else owner.scope


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _limit(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= number <= MAX_LISTED:
        raise ArgumentTypeError(f"a number from 1 to {MAX_LISTED}")
    return number
