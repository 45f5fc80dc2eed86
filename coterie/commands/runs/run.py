"""`coterie run`: run a team here and watch it."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from shlex import quote

from coterie.argument_values import read_context
from coterie.arguments import add_context, add_key, add_model
from coterie.commands.screen_option import add_screen, chosen_screen
from coterie.display.asked_inputs import ask_inputs
from coterie.display.run_session import WatchOptions, serve_and_watch
from coterie.display.screens import OpenScreen, ScreenLeft
from coterie.display.written_decisions import WrittenDecision, read_decisions
from coterie.documents.compilation import compile_target, print_warnings, startable
from coterie.documents.worker_trust import key_names, missing_keys
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.failures import CommandError, ExitCode
from coterie.interrupts import run_async
from coterie.runs.records import RunRecord, find, has_record, new_record
from coterie.runs.run_client import MessageSigner
from coterie.settings import Settings
from coterie.signing.own_keys import signer_of
from coterie.terminal import is_interactive, note


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "target", nargs="?", metavar="TEAM_OR_FILE", help="a file, or the name of a team"
    )
    parser.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="RUN",
        help="continue a run that was started in this project; default: the latest",
    )
    add_context(parser)
    add_model(parser)
    parser.add_argument(
        "--decisions", metavar="FILE", help="a YAML file with decisions on approvals"
    )
    parser.add_argument(
        "--verbose", action="store_true", help="print every event of the run with its reason"
    )
    parser.add_argument(
        "--workspace", metavar="DIR", help="the folder that tool functions may touch"
    )
    add_key(parser)
    add_screen(parser)


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Start or resume a run, and stay with it to its end."""
    opened = chosen_screen(args, settings)
    decisions = _decisions_of_file(args, settings)
    signer = signer_of(settings, args.key)
    if args.resume is not None:
        _refuse_beside_resume(args)
        record = find(settings, args.resume or None)
        _refuse_without_keys(missing_keys(record.keys, settings))
        return _serve(settings, record, None, _options(args, decisions, opened, signer))
    if args.target is None:
        raise CommandError("name a team or a file, or resume a run: coterie run --resume")
    document = compile_target(settings, args.target, model=args.model, workspace=args.workspace)
    declared = document.compiled.plan.context
    context = read_context(settings, args.context, args.settings, declared)
    analysis = print_warnings(args.target, document.compiled)
    keys = key_names(document.compiled.plan, document.trusted)
    _refuse_without_keys(missing_keys(keys, settings))
    if is_interactive():
        context = ask_inputs(declared, context)
    plan = startable(document.compiled, context, analysis=analysis).plan
    record = new_record(settings, args.id, plan, document.trusted, keys)
    return _serve(settings, record, (plan, context), _options(args, decisions, opened, signer))


def _options(
    args: Namespace,
    decisions: Sequence[WrittenDecision],
    opened: OpenScreen | None,
    signer: MessageSigner | None,
) -> WatchOptions:
    return WatchOptions(decisions, is_interactive(), args.verbose, opened, signer)


def _decisions_of_file(args: Namespace, settings: Settings) -> tuple[WrittenDecision, ...]:
    if args.decisions is None:
        return ()
    return read_decisions(settings.cwd / args.decisions, args.decisions)


def _refuse_beside_resume(args: Namespace) -> None:
    extra_names = [
        name
        for name in ("context", "settings", "id", "model", "workspace", "target")
        if getattr(args, name)
    ]
    if extra_names:
        names = {"settings": "--set", "target": repr(args.target)}
        options = ", ".join(names.get(name, f"--{name}") for name in extra_names)
        raise CommandError(f"{options} cannot be used with --resume: a run keeps its own inputs")


def _refuse_without_keys(missing: Sequence[str]) -> None:
    if missing:
        raise CommandError("; ".join(missing))


def _serve(
    settings: Settings,
    record: RunRecord,
    begin: tuple[Plan, Json] | None,
    options: WatchOptions,
) -> ExitCode:
    if not options.interactive and sys.stdin is not None and not options.written:
        note("no terminal: approvals wait until you run `coterie approve` or `coterie reject`")
    try:
        return run_async(serve_and_watch(settings, record, begin, options))
    except (KeyboardInterrupt, ScreenLeft):
        if not has_record(settings, record.id):
            note(f"\nrun {record.id} did not start; to start it, repeat the command")
            return ExitCode.INTERRUPTED
        resume = f"coterie run --resume {quote(record.id)}"
        note(f"\nrun {record.id} is not finished; resume it: {resume}")
        return ExitCode.INTERRUPTED
