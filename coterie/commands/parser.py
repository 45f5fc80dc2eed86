"""The parser of the command line. It loads only the module of the chosen command."""

import sys
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn, Protocol, cast

from coterie.commands.table import VERBS, Group
from coterie.dsl.visible import is_unicode, visible
from coterie.failures import CommandError, ExitCode
from coterie.settings import Settings
from coterie.terminal import say
from coterie.version import versions


class CommandModule(Protocol):
    """The interface of each module in `coterie.commands`."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        ...

    def run(self, args: Namespace, settings: Settings) -> ExitCode:
        """Execute the command."""
        ...


class _Parser(ArgumentParser):
    """Repeats the user's words in errors, with control characters visible."""

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Exit the command."""
        super().exit(status, None if message is None else visible(message))


class _Commands(_Parser):
    """The parser of all commands. Its help lists them by group."""

    def format_help(self) -> str:
        """Return the help text."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for group in Group:
            formatter.start_section(group)
            for verb, entry in VERBS.items():
                if entry.group is group:
                    formatter.add_argument(Action((), "", metavar=verb, help=entry.summary))
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments(action for action in self._actions if action.option_strings)
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()


class _Verb(_Parser):
    """Accepts options between positional arguments: `approve RUN --by ada REQUEST`."""

    _mixing = False

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, args: Any = None, namespace: Any = None
    ) -> Any:
        """Parse like `parse_known_intermixed_args`, which calls this method."""
        if self._mixing:
            return super().parse_known_args(args, namespace)
        self._mixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._mixing = False


def whole_parser() -> ArgumentParser:
    """Return the parser of every command, with all arguments."""
    return _parser(dict.fromkeys(VERBS, True))


def _parser(verbs: Mapping[str, bool]) -> ArgumentParser:
    """Build the parser.

    Args:
        verbs: The commands, and whether to load their arguments.
    """
    parser = _Commands(
        prog="coterie",
        description="Runs teams of LLM agents, written in YAML, as durable Temporal workflows.",
        epilog="Exit codes: 0 done, 1 the run failed or was refused, 2 the document or the call "
        "is wrong, 3 a bug, 4 done but the output could not be written, 5 no verdict (eval), 10 to "
        "12 a limit of the run, 20 to 24 a budget, 124 not yet (see --timeout), 130 interrupted, "
        "141 nobody reads the output of `watch`.",
    )
    parser.add_argument("--version", action="store_true", help="show the version")
    below = parser.add_subparsers(
        dest="verb", metavar="COMMAND", title="commands", parser_class=_Verb
    )
    for verb, whole in verbs.items():
        what = VERBS[verb].summary
        command_parser = below.add_parser(
            verb, help=what, description=f"{what[0].upper()}{what[1:]}."
        )
        if whole:
            load_command(verb).add_arguments(command_parser)
    return parser


def parse_command(words: Sequence[str]) -> tuple[str, Namespace]:
    """Return the chosen command and its arguments; exit for help, the version, or an error.

    Raises:
        CommandError: An argument is not text.
    """
    for word in words:
        if not is_unicode(word):
            raise CommandError(f"the argument {word!a} is not UTF-8 text")
    command = next((word for word in words if not word.startswith("-")), None)
    # Building the parsers of all commands takes as long as checking a short document.
    alone = command in VERBS and words[0] == command
    verbs = {verb: verb == command for verb in VERBS if verb == command or not alone}
    parser = _parser(verbs)
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
    """Import the module of a command."""
    return cast("CommandModule", import_module(VERBS[verb].module))
