"""`coterie`: the parser, the dispatch to `coterie.commands`, and the one handler of errors.

Only the chosen command's module is loaded, so that help and `validate` start fast.
"""

import gc
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, Protocol, cast

from coterie.commands.table import VERBS
from coterie.failures import CommandError, ExitCode
from coterie.settings import Settings, load
from coterie.system_errors import system_error
from coterie.terminal import note
from coterie.text.lines import one_entry
from dsl.errors import InvalidDocument
from dsl.visible import visible

_BRIEF = frozenset(
    {"validate", "check", "plan", "graph", "explain", "limits", "schema", "init", "completion"}
)
"""They read, tell and end: looking for garbage would cost a tenth of their time."""


class Command(Protocol):
    """What each module in `coterie.commands` has."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        ...

    def run(self, args: Namespace, settings: Settings) -> ExitCode:
        """Do it."""
        ...


def main(argv: Sequence[str] | None = None) -> int:
    """The console script's entry."""
    if argv is None:
        gc.disable()  # until the command is loaded: nothing of what is imported ever goes
        _leave(_outcome(sys.argv[1:]))
    return _outcome(argv)


def _leave(code: int) -> NoReturn:
    """End without the interpreter's own clean-up.

    Threads of Temporal's library may be about to take the interpreter's lock just when it is
    taken down, and that ends in an abort instead of our exit code. And a tenth of the time of
    `validate` would go into taking everything apart.
    """
    try:
        with suppress(BrokenPipeError):
            sys.stdout.flush()
    except OSError as error:
        code = code or _told(f"standard output: {system_error(error) or error}")
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


def _told(what: str) -> ExitCode:
    """Say what the system refused, if it lets anything be said."""
    with suppress(OSError):
        note(one_entry(f"coterie: {what}"))
    return ExitCode.CALL_WRONG


def _outcome(words: Sequence[str]) -> int:
    """Parse, run, turn every error into a sentence and a number."""
    settings: Settings | None = None
    try:
        settings = load()
        verb, args = _parsed(words)
        if verb not in _BRIEF:
            gc.enable()
        return _command(verb).run(args, settings)
    except CommandError as error:
        note(one_entry(f"coterie: {error}"))
        return error.exit_code
    except InvalidDocument as error:
        return _refused(error, settings)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has enough; keep the interpreter from failing to flush it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.DONE
    except Exception as error:
        if isinstance(error, OSError) and (told := system_error(error)) is not None:
            return _told(told)
        from coterie.bugs import report

        return report(error, words, settings)


def _refused(error: InvalidDocument, settings: Settings | None) -> ExitCode:
    from coterie.text.problems import lines_of_file, problems_text, summary

    folder = settings.cwd if settings else Path.cwd()
    note(problems_text(error.problems, lines_of_file(folder)))
    note(f"coterie: {summary(error.problems)}")
    return ExitCode.CALL_WRONG


class _Parser(ArgumentParser):
    """Repeats what was given in its errors, with control characters visible."""

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """End the command."""
        super().exit(status, None if message is None else visible(message))


class _Verb(_Parser):
    """Takes options between positional words too: `approve RUN --by ada REQUEST`."""

    _mixing = False

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, args: Any = None, namespace: Any = None
    ) -> Any:
        """As `parse_known_intermixed_args`, which calls this in turn."""
        if self._mixing:
            return super().parse_known_args(args, namespace)
        self._mixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._mixing = False


def whole_parser() -> ArgumentParser:
    """The parser of every command, with all their arguments."""
    return _parser(dict.fromkeys(VERBS, True))


def _parser(verbs: Mapping[str, bool]) -> ArgumentParser:
    """The parser.

    Args:
        verbs: the commands that it knows; and whether with their arguments.
    """
    parser = _Parser(
        prog="coterie",
        description="Runs teams of LLM agents, written in YAML, as durable Temporal workflows.",
        epilog="Exit codes: 0 done, 1 the run failed or was refused, 2 the document or the call "
        "is wrong, 3 a bug, 10 to 12 a limit of the run, 20 to 24 a budget, 130 interrupted.",
    )
    parser.add_argument("--version", action="store_true", help="show the version")
    below = parser.add_subparsers(
        dest="verb", metavar="COMMAND", title="commands", parser_class=_Verb
    )
    for verb, whole in verbs.items():
        what = VERBS[verb].summary
        made = below.add_parser(verb, help=what, description=f"{what[0].upper()}{what[1:]}.")
        if whole:
            _command(verb).add_arguments(made)
    return parser


def _parsed(words: Sequence[str]) -> tuple[str, Namespace]:
    chosen = next((word for word in words if not word.startswith("-")), None)
    # To make the parsers of all commands takes as long as to check a short document.
    alone = chosen in VERBS and words[0] == chosen
    known = {verb: verb == chosen for verb in VERBS if verb == chosen or not alone}
    parser = _parser(known)
    args = parser.parse_args(words)
    if args.version:
        _show_version()
        raise SystemExit(ExitCode.DONE)
    if args.verb is None:
        parser.print_help(sys.stderr)
        raise SystemExit(ExitCode.CALL_WRONG)
    return args.verb, args


def _show_version() -> None:
    from coterie.terminal import say
    from coterie.version import versions

    say("\n".join(f"{name} {version}" for name, version in versions().items()))


def _command(verb: str) -> Command:
    return cast("Command", import_module(VERBS[verb].module))
