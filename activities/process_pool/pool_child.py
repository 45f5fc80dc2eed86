"""Run work of ours in a child process, at low priority and within limits."""

import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from coterie.activities.process_pool.work import Work, find_object
from coterie.activities.process_pool.work_messages import (
    SEPARATOR,
    MissingModule,
    OutOfMemory,
    WorkDone,
    WorkOutcome,
    WorkRaised,
)
from coterie.activities.processes.child_loop import Channel, reason_for, serve

NICENESS = 5
"""A third of the CPU time that the worker gets where both want it. Less would starve ordinary pages
on a machine that is busy with other things."""


def main() -> None:
    """Serve calls."""
    _lower_priority()
    serve(_answer, _read_call)


def _lower_priority() -> None:
    """Let the worker and all other processes go first; let the kernel end this one before them.

    A session of its own has a priority of its own where the kernel groups processes by sessions:
    there the priority of a process counts only within its session.
    """
    os.nice(NICENESS)
    for file, value in (("autogroup", NICENESS), ("oom_score_adj", 1000)):
        with suppress(OSError):
            Path("/proc/self", file).write_text(str(value))


class _Call(NamedTuple):
    work: Work[Any, Any]
    cpu: int
    given: Any


def _read_call(line: bytes) -> _Call:
    name, cpu, payload = line.split(SEPARATOR, 2)
    work: Work[Any, Any] = find_object(name.decode())
    return _Call(work, int(cpu), work.given.validate_json(payload))


def _answer(call: _Call, _: Channel) -> dict[str, object]:
    return _outcome(*call).model_dump(mode="json")


def _outcome(work: Work[Any, Any], cpu: int, value: Any) -> WorkOutcome:
    _limit_resources(cpu, work.memory)
    try:
        return WorkDone(
            result=work.result.dump_python(work.call(value), mode="json", by_alias=True)
        )
    except MemoryError:
        return OutOfMemory()
    except ModuleNotFoundError as error:
        return MissingModule(name=error.name or "")
    except Exception as error:
        return WorkRaised(reason=reason_for(error))


def _limit_resources(cpu: int, memory: int) -> None:
    """Set the limits of one call, also for processes that it starts."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(usage.ru_utime + usage.ru_stime) + cpu + 1
    for kind, value in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_DATA, memory)):
        _, maximum = resource.getrlimit(kind)
        within = value if maximum == resource.RLIM_INFINITY else min(value, maximum)
        resource.setrlimit(kind, (within, maximum))
