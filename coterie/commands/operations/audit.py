"""`coterie audit`: export what a run or the gateways recorded as a signed chain; verify one."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from coterie.activities.os_errors import reason_of
from coterie.activities.workspace.project_files import write_private
from coterie.audit.audit_chain import CheckedExport, checked_export, entry_of
from coterie.audit.audit_entries import AuditEntry, GatewayNoted
from coterie.audit.audit_exports import (
    export_of_gateway,
    export_of_run,
    sealed,
    server_differences,
)
from coterie.audit.gateway_audit import batch_proofs, begun_again
from coterie.audit.sent_records import audit_run, send_record
from coterie.failures import CommandError, ExitCode
from coterie.interrupts import run_async
from coterie.logs import quietly
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.signing.key_files import read_key
from coterie.terminal import note, say
from coterie.text.problems import counted
from coterie.workflows.signatures.verification import is_public_key


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("action", choices=("export", "verify"), help="what to do")
    parser.add_argument(
        "subject", nargs="?", metavar="RUN_OR_FILE", help="export: the run; verify: the file"
    )
    parser.add_argument(
        "--gateway",
        action="store_true",
        help="export: what belongs to no run: sign-ins, refusals, tokens, exports",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="export: the file to write")
    parser.add_argument(
        "--key", metavar="FILE", help="export: the key of a person or a gateway that signs it"
    )
    parser.add_argument(
        "--root",
        action="append",
        default=[],
        metavar="KEY",
        help="verify: the public root key that you trust; again for an older one",
    )
    parser.add_argument(
        "--server", action="store_true", help="verify: compare it with the histories, too"
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Export or verify."""
    if args.action == "export":
        return run_async(_export(args, settings))
    return run_async(_verify(args, settings))


async def _export(args: Namespace, settings: Settings) -> ExitCode:
    if (args.subject is None) != args.gateway:
        raise CommandError("name what to export: a RUN, or --gateway for what belongs to no run")
    if args.output is None:
        raise CommandError("name the file to write: -o FILE")
    if args.root or args.server:
        raise CommandError("--root and --server belong to `coterie audit verify`")
    key = None if args.key is None else read_key(settings.cwd / args.key)
    quietly(settings)
    client = (await open_connection(settings)).client
    if args.gateway:
        entries = await export_of_gateway(client, audit_run(settings))
    else:
        entries = await export_of_run(client, args.subject)
    content = sealed(entries, key, datetime.now(UTC))
    _write(settings.cwd / args.output, content)
    await send_record(client, settings, "exported", args.subject or "gateway")
    say(f"{args.output}: {counted(len(entries), 'line')}")
    if key is None:
        note("it has no signature, so nobody can prove that it is whole: sign it with --key FILE")
    return ExitCode.DONE


def _write(file: Path, content: bytes) -> None:
    try:
        write_private(file, content.decode())
    except OSError as error:
        raise CommandError(f"could not write {file}: {reason_of(error)}") from None


async def _verify(args: Namespace, settings: Settings) -> ExitCode:
    if args.gateway or args.output is not None or args.key is not None:
        raise CommandError("--gateway, -o and --key belong to `coterie audit export`")
    if args.subject is None or not args.root:
        raise CommandError("name the FILE and the root key that you trust: --root KEY")
    for key in args.root:
        if not is_public_key(key):
            raise CommandError(
                f"--root {key!r} is no public key; `coterie keys init` prints one for coterie.yml"
            )
    try:
        content = (settings.cwd / args.subject).read_bytes()
    except OSError as error:
        raise CommandError(f"could not read {args.subject}: {reason_of(error)}") from None
    checked = checked_export(content, args.root)
    problems = list(checked.problems)
    if args.server:
        quietly(settings)
        client = (await open_connection(settings)).client
        problems += await server_differences(client, checked)
    for problem in problems:
        where = "" if problem.line is None else f" line {problem.line}"
        say(f"{args.subject}:{where} {problem.text}")
    if problems:
        note(f"{args.subject}: NOT PROVED: {counted(len(problems), 'problem')}")
        return ExitCode.RUN_FAILED
    _say_proved(args.subject, checked, args.root, is_compared=args.server)
    return ExitCode.DONE


def _say_proved(
    file: str, checked: CheckedExport, roots: Sequence[str], *, is_compared: bool
) -> None:
    sealed_by = checked.sealed
    assert sealed_by is not None
    at = "" if checked.opened is None else checked.opened.at
    compared = f", equal to the histories on the server as of {at}" if is_compared else ""
    say(
        f"{file}: {counted(len(checked.lines), 'line')} of {sealed_by.id}, from "
        f"{sealed_by.begins} to {sealed_by.ends}, signed by {checked.signer} at {sealed_by.at}"
        f"{compared}"
    )
    if sealed_by.of == "gateway":
        entries = [entry for line in checked.lines if (entry := entry_of(line)) is not None]
        _note_doubts(entries, roots, sealed_by.id)


def _note_doubts(entries: Sequence[AuditEntry], roots: Sequence[str], run: str) -> None:
    """Say what the lines of an audit run do not prove."""
    noted = [entry for entry in entries if isinstance(entry, GatewayNoted)]
    batches = counted(len(noted), "batch", "batches")
    unsigned, copies = batch_proofs(noted, roots, run)
    if unsigned:
        note(
            f"{len(unsigned)} of {batches} have no signature of a "
            "gateway: anyone who reaches the server may have added them"
        )
    if copies:
        events = ", ".join(map(str, copies))
        note(f"{len(copies)} of {batches} repeat an earlier one, sent again: event {events}")
    again = begun_again(entries)
    if again:
        note(
            "somebody closed the audit run, and it began again: what came before "
            f"{', '.join(again)} may be incomplete"
        )
