"""`coterie tokens`: create, list and revoke the tokens of programs."""

import json
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from shlex import quote
from typing import get_args

from coterie.arguments import duration_given
from coterie.audit.sent_records import send_token_record
from coterie.dsl.model.sections.access_document import RoleName
from coterie.failures import CommandError, ExitCode
from coterie.gateway.identity.access_settings import load_access, tokens_file
from coterie.gateway.identity.program_tokens import (
    create_token,
    read_tokens,
    revoke_token,
    shown_time,
    token_lines,
)
from coterie.interrupts import run_async
from coterie.settings import Settings, state_folder
from coterie.terminal import note, say
from coterie.text.columns import aligned

_DEFAULT_LIFE = 90 * 86_400.0


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("action", choices=("create", "list", "revoke"), help="what to do")
    parser.add_argument("name", nargs="?", metavar="NAME", help="the token to create or revoke")
    parser.add_argument(
        "--role",
        action="append",
        default=[],
        choices=get_args(RoleName),
        help="what a new token may do; repeat it for several roles",
    )
    parser.add_argument(
        "--team",
        action="append",
        default=[],
        metavar="PATTERN",
        help="the teams on whose runs it may do so, such as 'pay_*'; default: all",
    )
    parser.add_argument(
        "--expires",
        type=duration_given,
        default=_DEFAULT_LIFE,
        metavar="DURATION",
        help="how long a new token lasts, at most 366d; default: 90d",
    )
    parser.add_argument(
        "--file",
        metavar="FILE",
        help="the file with the digests; default: `access.tokens` of coterie.yml",
    )
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Create, list or revoke."""
    file = _file(args, settings)
    match args.action:
        case "list":
            _list(file, as_json=args.json)
        case "create":
            _create(file, _name(args), args)
            run_async(send_token_record(settings, "created a token", args.name))
        case _:
            revoked = revoke_token(file, _name(args))
            note(f"revoked: gateways refuse the token {revoked.name!r} from their next request on")
            run_async(send_token_record(settings, "revoked a token", revoked.name))
    return ExitCode.DONE


def _file(args: Namespace, settings: Settings) -> Path:
    if args.file is not None:
        return settings.cwd / args.file
    file = tokens_file(load_access(settings), settings)
    if args.action == "create" and file.parent == settings.state:
        state_folder(settings)
    return file


def _name(args: Namespace) -> str:
    if args.name is None:
        raise CommandError(f"`coterie tokens {quote(args.action)}` needs the NAME of a token")
    return args.name


def _create(file: Path, name: str, args: Namespace) -> None:
    if not args.role:
        raise CommandError(
            f"a token needs at least one role: {', '.join(get_args(RoleName))}; add it with --role"
        )
    now = time.time()
    token = create_token(file, name, args.role, args.team, now, args.expires)
    note(f"the token of {name!r}, until {shown_time(now + args.expires)}; it is shown only now:")
    say(token)


def _list(file: Path, *, as_json: bool) -> None:
    tokens = read_tokens(file).tokens
    if as_json:
        fields = [one.model_dump(mode="json", exclude={"digest"}) for one in tokens]
        say(json.dumps(fields, indent=2, ensure_ascii=False))
    elif not tokens:
        note(f"there are no tokens in {file}")
    else:
        rows = token_lines(tokens, time.time())
        for line in aligned([("TOKEN", "ROLES", "TEAMS", "UNTIL"), *rows]):
            say(line)
