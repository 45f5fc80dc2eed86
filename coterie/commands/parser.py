"""The parser of the command line. Of the commands' modules it loads only the chosen one."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn, Protocol, cast

from coterie.commands.table import VERBS
from coterie.failures import ExitCode
from coterie.settings import Settings
from coterie.terminal import say
from coterie.version import versions
from dsl.visible import visible


class CommandModule(Protocol):
    """What each module in `coterie.commands` has."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        ...

    def run(self, args: Namespace, settings: Settings) -> ExitCode:
        """Do it."""
        ...


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
            load_command(verb).add_arguments(made)
    return parser


def parsed(words: Sequence[str]) -> tuple[str, Namespace]:
    """The chosen command and its arguments; ends the process for help, the version, a mistake."""
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
    say("\n".join(f"{name} {version}" for name, version in versions().items()))


def load_command(verb: str) -> CommandModule:
    """The module of a command."""
    return cast("CommandModule", import_module(VERBS[verb].module))
