"""What runs on this machine, while it starts and ends.

A process may end between the look for its file and the reading of it: then Linux says
`ProcessLookupError` where one would expect `FileNotFoundError`.
"""

from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether a process has not ended; one that nobody has waited for yet has."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def pid_in(file: Path) -> int | None:
    """The process that wrote its number into a file; None until its whole line is there.

    A shell creates the file of `echo $$ > pid` before it writes into it.
    """
    try:
        text = file.read_text()
    except FileNotFoundError:
        return None
    return int(text) if text.endswith("\n") else None


def children() -> list[int]:
    """The processes that this one has begun."""
    found: list[int] = []
    for thread in Path("/proc/self/task").iterdir():
        try:
            found += map(int, (thread / "children").read_text().split())
        except OSError:
            continue  # the thread has ended
    return found
