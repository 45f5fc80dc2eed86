"""`coterie completion`: print a completion script for bash, zsh or fish."""

from argparse import Action, ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from typing import cast

import shtab

from coterie.commands.parser import whole_parser
from coterie.failures import ExitCode
from coterie.settings import Settings
from coterie.terminal import say

SHELLS = ("bash", "zsh", "fish")
_FILES = ("FILE", "TEAM_OR_FILE", "TEAM_OR_FILE_OR_RUN", "JSON|@FILE", "OUT", "PATH")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the script")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Print the script."""
    parser = whole_parser()
    for action in _actions(parser):
        if action.metavar in _FILES:
            setattr(action, "complete", shtab.FILE)  # noqa: B010  # shtab's own protocol
        elif action.metavar == "DIR":
            setattr(action, "complete", shtab.DIRECTORY)  # noqa: B010
    say(shtab.complete(parser, shell=args.shell).rstrip("\n"))
    return ExitCode.DONE


def _actions(parser: ArgumentParser) -> Iterator[Action]:
    """Yield every action, including those of the commands; argparse has no public list of them."""
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        yield action
        choices: object = action.choices
        if isinstance(choices, Mapping):
            commands = cast("Mapping[str, ArgumentParser]", choices)
            for below in commands.values():
                yield from _actions(below)
