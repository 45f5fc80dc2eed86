"""Work for the pool of processes that spins, grows, or says where it runs."""

import os
import subprocess
from importlib import import_module
from pathlib import Path

from pydantic import TypeAdapter

from coterie.activities.process_pool.work import Work
from coterie.dsl.values import Json

_TEXT, _JSON = TypeAdapter(str), TypeAdapter(Json)


def where(given: str) -> Json:
    """Say where it runs, and with what priority."""
    autogroup = Path("/proc/self/autogroup")
    return {
        "given": given,
        "pid": os.getpid(),
        "nice": os.nice(0),
        "session": autogroup.read_text().split()[-1] if autogroup.exists() else str(os.nice(0)),
        "environment": [*sorted(os.environ)],
    }


def spin(note: str) -> Json:
    """Write down its process id, and never end."""
    if note:
        with Path(note).open("a") as file:
            file.write(f"{os.getpid()}\n")
    while True:
        pass


def grow(size: str) -> Json:
    """Take memory."""
    return {"size": len(b"x" * int(size))}


def leave(note: str) -> Json:
    """Leave a process of its own session behind, and never end."""
    left = subprocess.Popen(["sleep", "600"], start_new_session=True)
    Path(note).write_text(f"{left.pid}\n")
    return spin("")


def fail(given: str) -> Json:
    """Raise, as a bug would."""
    raise LookupError(given)


def miss(name: str) -> Json:
    """Import what is not installed."""
    import_module(name)
    return {}


def _work(name: str, function: str, cpu: int = 60, memory: int = 1 << 30) -> Work[str, Json]:
    here = "tests.support.programs.pool_work"
    return Work(f"{here}:{name}", f"{here}:{function}", _TEXT, _JSON, cpu, memory)


WHERE = _work("WHERE", "where")
SPIN = _work("SPIN", "spin")
SPIN_BRIEFLY = _work("SPIN_BRIEFLY", "spin", cpu=0)
GROW = _work("GROW", "grow", memory=200 << 20)
LEAVE = _work("LEAVE", "leave")
MISS = _work("MISS", "miss")
FAIL = _work("FAIL", "fail")
