"""Print to the person: results to standard output, everything else to standard error.

Text from models, tools, files and people cannot control the terminal: this module makes control
characters visible, for all commands.
"""

import sys

from coterie.dsl.visible import visible


def say(text: str = "") -> None:
    """Print a line of the command's result."""
    sys.stdout.write(f"{visible(text)}\n")
    sys.stdout.flush()


def say_part(text: str) -> None:
    """Print a part of the result that others continue on the same line."""
    sys.stdout.write(visible(text))
    sys.stdout.flush()


def note(text: str) -> None:
    """Print a line about progress, which is never part of the result."""
    sys.stderr.write(f"{visible(text)}\n")
    sys.stderr.flush()


def prompt(text: str) -> None:
    """Print the start of a line that the person completes."""
    sys.stderr.write(visible(text))
    sys.stderr.flush()


def is_interactive() -> bool:
    """Return whether a person can read questions and type answers.

    Standard output may go to a file; it contains only results.
    """
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
