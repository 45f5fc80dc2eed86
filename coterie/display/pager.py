"""Show a long text page by page, in the person's own pager.

The text is escaped as everywhere: what models and tools wrote cannot control the terminal there.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from typing import TextIO

from rich.cells import cell_len

from coterie.activities.processes.search_path import command_outside
from coterie.dsl.visible import visible
from coterie.settings import Settings
from coterie.terminal import note, say

_PAGER = "less"
_OPTIONS = {"LESS": "FX"}
"""Quit if the text fits, and leave it on the screen; without `R`, so that nothing is a control."""
_KEPT = frozenset(
    (
        *(
            "PATH",
            "HOME",
            "USER",
            "LOGNAME",
            "SHELL",
            "LANG",
            "TMPDIR",
            "PAGER",
            "EDITOR",
            "VISUAL",
        ),
        *("TERM", "COLORTERM", "TERMINFO", "TERMINFO_DIRS", "NO_COLOR", "LINES", "COLUMNS"),
    )
)
_KEPT_PREFIXES = ("LC_", "LESS", "XDG_", "BAT_", "MORE")


def show_result(text: str, settings: Settings) -> None:
    """Print the result of a command; page it if it is longer than the terminal."""
    if not _show_in_pager(text, sys.stdout, settings):
        say(text)


def show_note(text: str, settings: Settings) -> None:
    """Print what is not a result; page it if it is longer than the terminal."""
    if not _show_in_pager(text, sys.stderr, settings):
        note(text)


def pager_of(environment: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the command of the pager; None for none: `PAGER` is empty or `cat`, or unusable.

    Without `PAGER` it is `less`, but none on a terminal that cannot move its cursor.
    """
    setting = environment.get("PAGER")
    if setting is None:
        return None if environment.get("TERM", "dumb") == "dumb" else (_PAGER,)
    try:
        words = shlex.split(setting)
    except ValueError:
        return None
    return tuple(words) if words and words != ["cat"] else None


def fits(text: str, columns: int, rows: int) -> bool:
    """Return whether a terminal of this size shows all lines of a text, and a prompt below them."""
    height = 0
    for line in text.split("\n"):
        height += max(1, -(-cell_len(line) // max(columns, 1)))
        if height >= rows:
            return False
    return True


def _without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what a pager needs: a shell within one (`!` of `less`) gets no key of a provider."""
    return {
        name: value
        for name, value in environment.items()
        if name in _KEPT or name.startswith(_KEPT_PREFIXES)
    }


def _show_in_pager(text: str, to: TextIO, settings: Settings) -> bool:
    """Show a text in the pager; return whether the person has seen it there.

    The pager gets the terminal, with Ctrl-C, until it ends: nothing else happens meanwhile. It is
    never a program of the project, where commands can put one under its name.
    """
    if sys.stdin is None or not (sys.stdin.isatty() and to.isatty()):
        return False
    page, size = visible(text), os.get_terminal_size(to.fileno())
    environment = settings.environment
    pager = None if fits(page, size.columns, size.lines) else pager_of(environment)
    path = environment.get("PATH", os.defpath)
    command = None if pager is None else command_outside(pager, path, settings.project)
    if command is None:
        return False
    to.flush()
    try:
        process = subprocess.run(
            command,
            input=f"{page}\n".encode(errors="replace"),
            stdout=to,
            env={**_OPTIONS, **_without_secrets(environment)},
            check=False,
        )
    except OSError:
        return False
    return process.returncode == 0
