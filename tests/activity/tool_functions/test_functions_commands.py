"""Commands: only named ones, in the project, bounded, and nothing of them is left running."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.tool_functions.command_runner import CommandResult
from coterie.activities.workspace.function_base import Command, Workspace
from tests.support.tool_functions import call, environment, refusal, said, unlocked

# A command whose child ignores SIGTERM. Both hold their locks until they are dead, and the
# command says so through a named pipe once both are at work.
FAMILY = """
import fcntl, os, signal, sys
def hold(name):
    lock = open(name, "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock
ready, go = os.pipe()
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    lock = hold("child.lock")
    os.write(go, b"!")
else:
    lock = hold("parent.lock")
    os.read(ready, 1)
    print("at work", flush=True)
    open("started", "w").write("yes")
signal.pause()
"""


def workspace_at(root: Path, *commands: Command) -> Workspace:
    return Workspace(
        root, {command.name: command for command in commands}, environment=dict(os.environ)
    )


def python(code: str, name: str = "it", **fields: object) -> Command:
    return Command(name, ("{python}", "-c", code), **fields)  # pyright: ignore[reportArgumentType]


async def run(workspace: Workspace, name: str = "it") -> CommandResult:
    data = await call(workspace, "CommandRunner.run", {"command": name})
    return TypeAdapter(CommandResult).validate_python(data)


async def all_dead(root: Path) -> None:
    """Both locks can be had, which is when their holders are dead."""
    for name in ("parent.lock", "child.lock"):
        await unlocked(root / name)


async def test_a_command_tells_what_it_wrote_and_how_it_ended(tmp_path: Path) -> None:
    code = "import sys; print('one', flush=True); print('two', file=sys.stderr); sys.exit(3)"
    result = await run(workspace_at(tmp_path, python(code)))
    assert (result.exit_code, result.passed, result.timed_out) == (3, False, False)
    assert result.output == "one\ntwo\n"
    assert (result.output_bytes, result.cut) == (8, False)
    assert result.argv[:2] == ["python", "-c"], "the worker's own path is not shown"


async def test_a_command_that_exits_with_zero_has_passed(tmp_path: Path) -> None:
    assert (await run(workspace_at(tmp_path, python("pass")))).passed


async def test_a_command_ended_by_a_signal_counts_as_in_a_shell(tmp_path: Path) -> None:
    code = "import os; os.kill(os.getpid(), 9)"
    assert (await run(workspace_at(tmp_path, python(code)))).exit_code == 137


async def test_an_unknown_command_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    workspace = workspace_at(tmp_path, python("pass", "tests"), python("pass", "lint"))
    error = await refusal(workspace, "CommandRunner.run", {"command": "test"})
    assert error.type == FailureType.FUNCTION_REFUSED
    assert error.message == (
        "unknown command 'test'; the worker's commands: lint, tests; did you mean 'tests'?"
    )


async def test_a_worker_without_commands_says_where_to_define_one(tmp_path: Path) -> None:
    error = await refusal(workspace_at(tmp_path), "CommandRunner.run", {"command": "test"})
    assert error.message == (
        "unknown command 'test'; the worker's commands: none; define it under `worker.commands` "
        "of its configuration"
    )


async def test_a_command_takes_no_arguments(tmp_path: Path) -> None:
    workspace = workspace_at(tmp_path, python("pass"))
    error = await refusal(workspace, "CommandRunner.run", {"command": "it", "args": ["; ls"]})
    assert error.type == FailureType.FUNCTION_REFUSED
    assert "args: Extra inputs are not permitted" in error.message


async def test_a_command_that_cannot_be_started_is_a_failure(tmp_path: Path) -> None:
    workspace = workspace_at(tmp_path, Command("it", ("no-such-program",)))
    error = await refusal(workspace, "CommandRunner.run", {"command": "it"})
    assert error.type == FailureType.FUNCTION_FAILED
    assert "could not start command 'it': no-such-program: No such file" in error.message


async def test_a_command_runs_in_its_directory_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    code = "import os; print(os.getcwd())"
    workspace = workspace_at(
        tmp_path,
        python(code, cwd="web"),
        python(code, "no", cwd="none"),
        python(code, "out", cwd=".."),
    )
    assert (await run(workspace)).output == f"{tmp_path / 'web'}\n"
    error = await refusal(workspace, "CommandRunner.run", {"command": "no"})
    assert "is not a directory" in error.message
    error = await refusal(workspace, "CommandRunner.run", {"command": "out"})
    assert error.type == FailureType.FUNCTION_REFUSED


async def test_a_command_sees_no_key_of_the_worker(tmp_path: Path) -> None:
    code = "import os; print(sorted(os.environ))"
    variables = {"API_KEY": "sk-1", "PATH": "/bin", "LC_ALL": "C", "PYTHONPATH": "x", "HOME": "/h"}
    commands = {"it": python(code), "more": python(code, "more", env=("PYTHONPATH",))}
    workspace = Workspace(tmp_path, commands, environment=variables)
    assert (await run(workspace)).output == "['COTERIE_CALL', 'HOME', 'LC_ALL', 'PATH']\n"
    more = "['COTERIE_CALL', 'HOME', 'LC_ALL', 'PATH', 'PYTHONPATH']\n"
    assert (await run(workspace, "more")).output == more


async def test_long_output_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    result = await run(workspace_at(tmp_path, python("for n in range(100_000): print('line', n)")))
    assert result.cut
    assert result.output_bytes == 1_088_890
    lines = result.output.splitlines()
    assert (lines[0], lines[-1]) == ("line 0", "line 99999")
    [gap] = [line for line in lines if not line.startswith("line ")]
    kept = len(result.output) - len(gap) - 1
    assert gap == f"[... {1_088_890 - kept} of 1088890 bytes cut ...]"
    assert len(result.output) < 33_000


async def test_standard_input_is_empty(tmp_path: Path) -> None:
    code = "import sys; print(repr(sys.stdin.read()))"
    assert (await run(workspace_at(tmp_path, python(code)))).output == "''\n"


async def test_out_of_time_kills_the_whole_family(tmp_path: Path) -> None:
    result = await run(workspace_at(tmp_path, python(FAMILY, timeout=10.0)))
    assert (result.timed_out, result.passed) == (True, False)
    assert result.output == "at work\n"
    await all_dead(tmp_path)


async def test_cancelling_the_activity_kills_the_whole_family(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "started")
    at = environment()
    workspace = workspace_at(tmp_path, python(FAMILY))
    running = asyncio.ensure_future(call(workspace, "CommandRunner.run", {"command": "it"}, at=at))
    await said(tmp_path / "started")
    at.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await all_dead(tmp_path)


async def test_a_child_left_behind_by_a_command_is_killed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "started")
    code = FAMILY.replace('"yes")\nsignal.pause()', '"yes")\n    sys.exit(0)\nsignal.pause()')
    running = asyncio.ensure_future(run(workspace_at(tmp_path, python(code))))
    await said(tmp_path / "started")
    result = await running
    assert (result.exit_code, result.passed) == (0, True)
    await all_dead(tmp_path)


async def test_a_killed_worker_leaves_no_command_running(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "started")
    worker = f"""
import asyncio
from pathlib import Path
from coterie.activities.processes.bounded_output import BoundedOutput
from coterie.activities.processes.process_group import run_group
asyncio.run(run_group([{sys.executable!r}, "-c", {FAMILY!r}], cwd=Path({str(tmp_path)!r}),
                      environment={{}}, seconds=600, output=BoundedOutput()))
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", worker)
    await said(tmp_path / "started")
    process.kill()
    assert await process.wait() == -signal.SIGKILL
    await all_dead(tmp_path)
