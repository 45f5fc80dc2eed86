"""The one way out to the person: results to standard output, everything else to standard error.

What models, tools, files and people wrote cannot control the terminal: control characters are made
visible here, for all commands.
"""

import sys

from dsl.visible import visible


def say(text: str = "") -> None:
    """A line of the command's result."""
    sys.stdout.write(f"{visible(text)}\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """A line about what is going on; never part of the result."""
    sys.stderr.write(f"{visible(text)}\n")
    sys.stderr.flush()


def prompt(text: str) -> None:
    """Print the beginning of a line that the person completes."""
    sys.stderr.write(visible(text))
    sys.stderr.flush()


def is_interactive() -> bool:
    """A person sits there: questions reach them and answers come back.

    Standard output may go to a file meanwhile; it holds results only.
    """
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
