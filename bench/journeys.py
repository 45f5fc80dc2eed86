"""Lists the files that three journeys enter: `python -m bench.journeys`, see bench/README.md.

A newcomer reads a journey by following each call into the function that it reaches first. So a
function counts once, where the journey reaches it first. A *stay* is a row of such functions in
one file, a *return* is a stay in a file that the journey entered before.
"""

import asyncio
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from coterie.documents.compilation import compile_target
from coterie.runtime.workflow_runner import ContextFreeRunner
from coterie.settings import Settings
from coterie.storage.histories import read_history
from coterie.storage.wire import data_converter
from workflows.team import TeamWorkflow

ROOT = Path(__file__).parents[1]
_ASKS = ("start_activity", "execute_activity")
_COMPILER = ("dsl/compile", "dsl/normalise", "dsl/source")
"""The shelves of the compiler."""
_HISTORIES = ROOT / "tests/replay/histories"


class Journey(NamedTuple):
    """The files that a journey enters, in the order of its functions."""

    name: str
    files: tuple[str, ...]  # one per stay

    @property
    def entered(self) -> tuple[str, ...]:
        """Each file once, in the order of its first stay."""
        return tuple(dict.fromkeys(self.files))

    def within(self, *folders: str) -> "Journey":
        """Return the part in some folders, as if nothing happened in between."""
        kept = (file for file in self.files if file.startswith(folders))
        return Journey(f"{self.name}, in {', '.join(folders)}", tuple(f for f, _ in groupby(kept)))

    def __str__(self) -> str:
        stays, files = len(self.files), len(self.entered)
        return f"{self.name}: files {files}, stays {stays}, returns {stays - files}"


class _Tracer:
    """Takes down each function of the watched rooms when it is called first."""

    def __init__(self, *rooms: str) -> None:
        self._rooms = tuple(f"{ROOT}/{room}/" for room in rooms)
        self._seen: set[CodeType] = set()
        self._files: list[str] = []
        self._stopped = False

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Watch one call, as `sys.setprofile` reports it."""
        code = frame.f_code
        if self._stopped or event != "call" or code in self._seen or code.co_name.startswith("<"):
            return
        if code.co_filename.startswith(self._rooms):
            self._seen.add(code)
            self._files.append(code.co_filename.removeprefix(f"{ROOT}/"))

    def stop(self) -> None:
        """End the journey here."""
        self._stopped = True

    def take(self, name: str) -> Journey:
        """Return the journey so far, and begin another one."""
        files = tuple(file for file, _ in groupby(self._files))
        self._seen.clear()
        self._files.clear()
        self._stopped = False
        return Journey(name, files)


@contextmanager
def _tracing(trace: Callable[[FrameType, str, object], None]) -> Generator[None]:
    threading.setprofile(trace)  # the threads of a worker begin later
    sys.setprofile(trace)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


def compilation() -> Journey:
    """From the YAML of the development team to its plan, within the language."""
    tracer = _Tracer("dsl")
    settings = Settings(ROOT, ROOT)
    compile_target(settings, "development")  # what is made once per process is made
    with _tracing(tracer):
        compile_target(settings, "development")
    return tracer.take("YAML -> Plan")


async def activations(history: str) -> list[tuple[set[str], Journey]]:
    """The kinds of jobs, and the journey, of each activation of a recorded run."""
    tracer = _Tracer("workflows", "dsl")
    jobs: set[str] = set()
    found: list[tuple[set[str], Journey]] = []

    def trace(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if code.co_name == "activate" and code.co_filename.endswith("_workflow_instance.py"):
            if event == "call":
                act = frame.f_locals["act"]
                jobs.update(job.WhichOneof("variant") for job in act.jobs)
            elif event == "return":
                found.append((set(jobs), tracer.take("")))
                jobs.clear()
        if event == "call" and code.co_name in _ASKS and "temporalio" in code.co_filename:
            tracer.stop()  # the run has asked for its first activity
        tracer(frame, event, argument)

    replayer = Replayer(
        workflows=[TeamWorkflow],
        workflow_runner=ContextFreeRunner(UnsandboxedWorkflowRunner()),
        data_converter=data_converter,
    )
    with _tracing(trace):
        await replayer.replay_workflow(read_history(_HISTORIES / history))
    return found


async def journeys() -> list[Journey]:
    """The three journeys that a newcomer reads first."""
    found = await activations("review_loop.0.1.0.json")
    start = next(j for jobs, j in found if "initialize_workflow" in jobs)
    found = await activations("terms.0.1.0.json")
    decided = next(j for jobs, j in found if "do_update" in jobs or "signal_workflow" in jobs)
    return [
        compilation(),
        start._replace(name="start -> interpreter"),
        decided._replace(name="approval -> decision"),
    ]


def main() -> None:
    """Print each journey and the files of its stays; a return is indented."""
    for journey in asyncio.run(journeys()):
        print(journey)
        if journey.files[0].startswith(_COMPILER):
            print(journey.within(*_COMPILER))
        seen: set[str] = set()
        for file in journey.files:
            print(f"  {'  ' if file in seen else ''}{file}")
            seen.add(file)


if __name__ == "__main__":
    main()
