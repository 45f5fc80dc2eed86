"""`coterie chat`: talk to a session at the terminal."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from shlex import quote

from pydantic import JsonValue

from coterie.argument_values import read_context, read_text
from coterie.arguments import add_context, add_model, login_name, who
from coterie.display.asked_inputs import ask_inputs
from coterie.display.chat_session import chat, read_script, stays_open
from coterie.documents.compilation import compile_target, print_warnings, startable
from coterie.documents.worker_trust import key_names, missing_keys
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.traversal.step_walk import message_waits
from coterie.dsl.values import Json
from coterie.failures import CommandError, ExitCode
from coterie.interrupts import run_async
from coterie.runs.records import RunRecord, find, new_record
from coterie.settings import Settings
from coterie.terminal import is_interactive, note

_SHOWN = 50
"""Earlier messages that are printed on return to a session."""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "target", nargs="?", metavar="TEAM_OR_FILE", help="a file, or the name of a team"
    )
    parser.add_argument("--session", metavar="RUN", help="return to a session of this project")
    parser.add_argument("--script", metavar="FILE", help="send these messages, one per line")
    parser.add_argument(
        "--history",
        type=_messages,
        default=_SHOWN,
        metavar="N",
        help=f"with --session: print the latest N messages and replies; default: {_SHOWN}",
    )
    parser.add_argument("--by", type=who, help="who writes; default: your login name")
    add_context(parser)
    add_model(parser)
    parser.add_argument(
        "--workspace", metavar="DIR", help="the folder that tool functions may touch"
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Start a session or return to one, and talk to it."""
    script = _script(args, settings)
    if script is None and not is_interactive():
        raise CommandError("no terminal: give the messages with --script FILE")
    if (args.target is None) is (args.session is None):
        raise CommandError("name a team or a file, or return to a session with --session RUN")
    record, begin = _session(args, settings)
    by = args.by or login_name()
    try:
        return run_async(chat(settings, record, begin, by, script, args.history))
    except KeyboardInterrupt:
        note(f"\n{stays_open(record.id)}")
        return ExitCode.INTERRUPTED


def _script(args: Namespace, settings: Settings) -> list[JsonValue] | None:
    if args.script is None:
        return None
    return read_script(read_text(settings.cwd / args.script, args.script), args.script)


def _session(args: Namespace, settings: Settings) -> tuple[RunRecord, tuple[Plan, Json] | None]:
    """Find the session, or prepare a new one."""
    if args.session is not None:
        record = find(settings, args.session)
        _refuse_without(missing_keys(record.keys, settings))
        return record, None
    document = compile_target(settings, args.target, model=args.model, workspace=args.workspace)
    declarations = document.compiled.plan.context
    context = read_context(settings, args.context, args.settings, declarations)
    analysis = print_warnings(args.target, document.compiled)
    if not message_waits(document.compiled.plan):
        raise CommandError(
            f"{args.target} takes no messages: no step has `type: wait, message: true`; start it "
            f"with `coterie run {quote(args.target)}`"
        )
    keys = key_names(document.compiled.plan, document.trusted)
    _refuse_without(missing_keys(keys, settings))
    if is_interactive():
        context = ask_inputs(declarations, context)
    plan = startable(document.compiled, context, analysis=analysis).plan
    return new_record(settings, args.id, plan, document.trusted, keys), (plan, context)


def _refuse_without(missing: Sequence[str]) -> None:
    if missing:
        raise CommandError("; ".join(missing))


def _messages(text: str) -> int:
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a number of messages")
    return int(text)
