"""`coterie keys`: make the keys of signed decisions."""

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from coterie.arguments import who
from coterie.failures import CommandError, ExitCode
from coterie.settings import Settings
from coterie.signing.key_files import KeyFile, generate, read_key, write_key
from coterie.signing.signers import issue
from coterie.terminal import note, say
from coterie.workflows.signatures.verification import MAX_GATEWAY_LIFE, MAX_PERSON_LIFE

_ROOT_FILE = "coterie-root.key"
_HOUR = timedelta(hours=1)


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "what",
        choices=("init", "issue", "rotate"),
        help="init: make a root key; issue: certify the key of a person or a gateway; rotate: "
        "replace the root key",
    )
    parser.add_argument(
        "--root", metavar="FILE", default=_ROOT_FILE, help=f"the root key; default: {_ROOT_FILE}"
    )
    subject = parser.add_mutually_exclusive_group()
    subject.add_argument("--person", type=who, metavar="NAME", help="issue: whom the key signs for")
    subject.add_argument(
        "--gateway", type=who, metavar="NAME", help="issue: the gateway that verifies people"
    )
    parser.add_argument(
        "--key",
        metavar="FILE",
        help="issue: the key file, new or to renew; default: NAME.key",
    )
    parser.add_argument(
        "--hours",
        type=int,
        metavar="N",
        help="issue: life of the certificate; default: 24, at most 24 for a gateway and "
        f"{MAX_PERSON_LIFE // _HOUR} for a person",
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Write key files that only this user may read, and print what is public."""
    root_file = settings.cwd / args.root
    is_issue = args.what == "issue"
    if not is_issue and (args.person or args.gateway or args.key or args.hours is not None):
        raise CommandError("--person, --gateway, --key and --hours belong to `coterie keys issue`")
    match args.what:
        case "init":
            root = generate("root")
            write_key(root_file, root)
            note(f"wrote {root_file}: keep it away from workers and gateways; who has it, decides")
            _say_settings(root)
        case "rotate":
            _rotate(root_file)
        case _:
            _issue(args, settings, read_key(root_file, root=True))
    return ExitCode.DONE


def _say_settings(root: KeyFile) -> None:
    note("for coterie.yml of every worker:")
    say(f"worker:\n  decisions: {{signed: required, root: {root.public}}}")


def _rotate(root_file: Path) -> None:
    old = read_key(root_file, root=True)
    kept = root_file.with_name(f"{root_file.name}.{old.public[:8].replace('/', '_')}")
    write_key(kept, old)
    root = generate("root")
    write_key(root_file, root, replace=True)
    note(
        f"wrote a new root key to {root_file}, and kept the old one as {kept}: runs that have "
        "begun take only decisions under the old one, so keep it until they have ended"
    )
    _say_settings(root)


def _issue(args: Namespace, settings: Settings, root: KeyFile) -> None:
    kind = "gateway" if args.gateway else "person"
    subject: str | None = args.gateway or args.person
    if subject is None:
        raise CommandError("name the holder of the key: --person NAME or --gateway NAME")
    file = settings.cwd / (args.key or f"{subject.replace('/', '_')}.key")
    held = read_key(file) if file.exists() else None
    if held is not None and (held.certified.kind, held.certified.subject) != (kind, subject):
        raise CommandError(
            f"{file} is the key of the {held.certified.kind} {held.certified.subject!r}; name "
            "another file with --key"
        )
    hours = MAX_GATEWAY_LIFE // _HOUR if args.hours is None else args.hours
    key = issue(root, kind, subject, life=timedelta(hours=hours), now=datetime.now(UTC), key=held)
    write_key(file, key, replace=held is not None)
    say(f"{file}: {kind} {subject!r}, until {key.certified.not_after}")
