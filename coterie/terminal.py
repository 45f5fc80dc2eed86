"""The one way out to the person: results to standard output, everything else to standard error."""

import sys


def say(text: str = "") -> None:
    """A line of the command's result."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """A line about what is going on; never part of the result."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def is_interactive() -> bool:
    """A person sits there: questions reach them and answers come back.

    Standard output may go to a file meanwhile; it holds results only.
    """
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
