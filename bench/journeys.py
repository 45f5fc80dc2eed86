"""Lists the files that six journeys enter: `python -m bench.journeys`, see bench/README.md.

A newcomer reads a journey by following each call into the function that it reaches first. So a
function counts once, where the journey reaches it first. A coroutine that continues after a wait is
reached where it calls something, innermost first. A *stay* is a row of such functions in one file,
a *return* is a stay in a file that the journey entered before.
"""

import asyncio
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import chdir, contextmanager, redirect_stdout
from functools import cache
from inspect import CO_COROUTINE
from io import StringIO
from itertools import groupby
from opcode import opmap
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import NamedTuple

import yaml
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from coterie import cli
from coterie.activities.agent_activity import AgentActivities
from coterie.documents.compilation import compile_target
from coterie.runtime.workflow_sandbox import ContextFreeRunner
from coterie.settings import load
from coterie.storage.histories import read_history
from coterie.storage.wire import data_converter
from coterie.workflows.steps import agent, approval, return_value
from coterie.workflows.team import TeamWorkflow
from tests.support.engine import engine
from tests.support.servers.temporal_server import time_skipping

ROOT = Path(__file__).parents[1]
_ASKS = ("start_activity", "execute_activity")
COMPILER = ("dsl/compile", "dsl/normalise", "dsl/source")
"""The shelves of the compiler."""
_NO_FUNCTIONS = ("<module>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
"""Code that a reader meets within the function that has it."""
_HISTORIES = ROOT / "tests/replay/histories"
_DOCUMENTS = ROOT / "bench/journey"
"""A team of 18 lines with one persona, one tool and three steps, and what its model answers."""


class Journey(NamedTuple):
    """The files that a journey enters, in the order of its functions."""

    name: str
    files: tuple[str, ...]  # one per stay

    @property
    def entered(self) -> tuple[str, ...]:
        """Each file once, in the order of its first stay."""
        return tuple(dict.fromkeys(self.files))

    @property
    def stays(self) -> int:
        """The number of stays."""
        return len(self.files)

    @property
    def returns(self) -> int:
        """The number of stays in files that the journey entered before."""
        return len(self.files) - len(self.entered)

    def within(self, *folders: str) -> "Journey":
        """Return the part in some folders, as if nothing happened in between."""
        kept = (file for file in self.files if file.startswith(folders))
        return Journey(f"{self.name}, in {', '.join(folders)}", tuple(f for f, _ in groupby(kept)))

    def __str__(self) -> str:
        files = len(self.entered)
        return f"{self.name}: files {files}, stays {self.stays}, returns {self.returns}"


class _Tracer:
    """Takes down each function of the watched rooms when it is called first."""

    def __init__(self, *rooms: str) -> None:
        self._rooms = tuple(f"{ROOT}/{room}/" for room in rooms)
        self._seen: set[CodeType] = set()
        self._files: list[str] = []
        self._stopped = False

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Watch one call, as `sys.setprofile` reports it."""
        if self._stopped or event != "call" or _continues(frame):
            return
        if frame.f_back is not None:  # a coroutine that continues
            self._reach(frame.f_back.f_code)
        self._reach(frame.f_code)

    def _reach(self, code: CodeType) -> None:
        if code in self._seen or not code.co_filename.startswith(self._rooms):
            return
        self._seen.add(code)
        if code.co_name not in _NO_FUNCTIONS:
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


def _continues(frame: FrameType) -> bool:
    """Return whether a frame is a coroutine that continues after a wait."""
    code = frame.f_code
    return bool(code.co_flags & CO_COROUTINE) and frame.f_lasti not in _beginnings(code)


@cache
def _beginnings(code: CodeType) -> set[int]:
    """Return the offsets at which a function begins: `RESUME 0`, see `dis`."""
    operations = zip(code.co_code[::2], code.co_code[1::2], strict=True)
    return {2 * n for n, one in enumerate(operations) if one == (opmap["RESUME"], 0)}


@contextmanager
def _tracing(trace: Callable[[FrameType, str, object], None]) -> Generator[None]:
    threading.setprofile(trace)  # the threads of a worker begin later
    sys.setprofile(trace)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


def compilation(folder: Path, target: str) -> Journey:
    """From the YAML of a team to its plan, within the language."""
    tracer = _Tracer("dsl")
    settings = load(environ={}, cwd=folder)
    compile_target(settings, target)  # what is made once per process is made
    with _tracing(tracer):
        compile_target(settings, target)
    return tracer.take(f"YAML -> Plan, {target}")


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
        if event == "return" and code is approval.execute.__code__:
            tracer.stop()  # the approval has its outcome
        tracer(frame, event, argument)

    with _tracing(trace):
        await _replayer().replay_workflow(read_history(_HISTORIES / history))
    return found


async def agent_step() -> Journey:
    """An agent of two turns and two calls, from its step to the next one, by the interpreter."""
    tracer = _Tracer("workflows", "dsl")
    begun = False

    def trace(frame: FrameType, event: str, argument: object) -> None:
        nonlocal begun
        begun = begun or frame.f_code is agent.execute.__code__
        if frame.f_code is return_value.execute.__code__:
            tracer.stop()
        if begun:
            tracer(frame, event, argument)

    answers = yaml.safe_load((_DOCUMENTS / "answers.yml").read_text())["answers"]
    with TemporaryDirectory() as folder:
        async with time_skipping() as env, engine(env, Path(folder), answers) as here:
            handle = await here.start((_DOCUMENTS / "team.yml").read_text())
            await handle.result()
            history = await handle.fetch_history()
    with _tracing(trace):
        await _replayer().replay_workflow(history)
    return tracer.take("agent step: 2 turns, 2 calls")


def command() -> Journey:
    """`coterie run` of the short document, from its arguments to its first activity."""
    tracer = _Tracer("dsl", "activities", "workflows", "coterie")

    def trace(frame: FrameType, event: str, argument: object) -> None:
        if frame.f_code is AgentActivities.run_agent.__code__:
            tracer.stop()
        tracer(frame, event, argument)

    with TemporaryDirectory() as folder:
        project = Path(folder)
        for file in _DOCUMENTS.iterdir():
            (project / file.name).write_bytes(file.read_bytes())
        with chdir(project), redirect_stdout(StringIO()):
            with _tracing(trace):
                code = cli.main(["run", "team.yml"])
            cli.main(["server", "--stop"])
    assert code == 0
    return tracer.take("argv -> first activity")


def _replayer() -> Replayer:
    return Replayer(
        workflows=[TeamWorkflow],
        workflow_runner=ContextFreeRunner(UnsandboxedWorkflowRunner()),
        data_converter=data_converter,
        build_id="test",
    )


async def journeys() -> list[Journey]:
    """The journeys that a newcomer reads first, without that of a command."""
    found = await activations("review_loop.0.1.0.json")
    start = next(j for jobs, j in found if "initialize_workflow" in jobs)
    found = await activations("terms.0.1.0.json")
    *_, decided = (j for jobs, j in found if "do_update" in jobs)  # the one that closes the request
    return [
        compilation(ROOT, "development"),
        compilation(_DOCUMENTS, "team.yml"),
        await agent_step(),
        start._replace(name="start -> interpreter"),
        decided._replace(name="decision -> outcome"),
    ]


def main() -> None:
    """Print each journey and the files of its stays; a return is indented."""
    for journey in (*asyncio.run(journeys()), command()):
        print(journey)
        if journey.files[0].startswith(COMPILER):
            print(journey.within(*COMPILER))
        seen: set[str] = set()
        for file in journey.files:
            print(f"  {'  ' if file in seen else ''}{file}")
            seen.add(file)


if __name__ == "__main__":
    main()
