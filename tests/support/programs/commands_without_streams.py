"""Runs each command's help in a fork that lost a standard stream; prints the exit codes as JSON."""

import json
import os
import sys
from collections.abc import Callable, Mapping

from coterie.cli import main
from coterie.commands.parser import whole_parser
from coterie.commands.table import VERBS


def _full(descriptor: int) -> None:
    os.dup2(os.open("/dev/full", os.O_WRONLY), descriptor)


def _without_reader(descriptor: int) -> None:
    source, target = os.pipe()
    os.dup2(target, descriptor)
    os.close(source)


def _closed(descriptor: int) -> None:
    os.close(descriptor)
    setattr(sys, "stdout" if descriptor == 1 else "stderr", None)  # as the interpreter does


LOSSES: Mapping[str, Callable[[int], None]] = {
    "closed": _closed,
    "without reader": _without_reader,
    "full": _full,
}


def _exit_code(words: list[str], lose: Callable[[int], None], descriptor: int) -> int:
    child = os.fork()
    if child == 0:
        lose(descriptor)
        sys.argv = ["coterie", *words]
        main()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    whole_parser()  # imports every command, once for all forks
    report = {
        f"{' '.join(words)}: {loss} {descriptor}": _exit_code(words, lose, descriptor)
        for words in [*([verb, "--help"] for verb in VERBS), ["validate", "absent.yml"]]
        for loss, lose in LOSSES.items()
        for descriptor in (1, 2)
    }
    sys.stdout.write(f"\n{json.dumps(report)}")  # behind the help that the forks printed
