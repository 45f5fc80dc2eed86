"""What the tools do to the world: lines in two files, which the test reads.

`journal.txt` gets a line when a call begins, `ledger.txt` one when its effect happens.
"""

import os
import time


def append(file: str, *words: object) -> None:
    """Append one line at once, which a kill cannot cut."""
    line = " ".join(map(str, words)) + "\n"
    opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(opened, line.encode())
    finally:
        os.close(opened)


def act(tool: str, id: str, seconds: float) -> None:
    """Begin, take half of the time, have the effect, take the other half; quickly the next time."""
    if line_ends("journal.txt", f" {tool} {id}"):
        seconds = min(seconds, 0.2)
    append("journal.txt", time.time(), tool, id)
    time.sleep(seconds / 2)
    append("ledger.txt", tool, id)
    time.sleep(seconds / 2)


def line_ends(file: str, end: str) -> bool:
    """Whether a line of the file ends so."""
    try:
        with open(file) as opened:
            return any(line.endswith(f"{end}\n") for line in opened)
    except FileNotFoundError:
        return False
