"""Commands that may happen only once, and the name by which a command knows its call."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import FailureType
from coterie.activities.workspace.function_base import Command, Workspace
from tests.support.tool_functions import call, environment, refusal, said

SHOW = "import os; print(os.environ['COTERIE_CALL'])"
BEGUN = "import os, signal; open('begun', 'w').write('yes'); signal.pause()"


def workspace_at(root: Path, code: str, *, once: bool = True, timeout: float = 60.0) -> Workspace:
    run = ("{python}", "-c", code)
    commands = {
        "it": Command("it", run, timeout, once=once),
        "show": Command("show", ("{python}", "-c", SHOW)),
    }
    return Workspace(root, commands, environment=dict(os.environ))


async def shown(
    workspace: Workspace, function: str, key: str | None = None, execution: str = "first"
) -> JsonValue:
    asked: dict[str, JsonValue] = {"command": "show", "key": key}
    run = environment().info.workflow_id
    data = await call(workspace, function, asked, key=f"{run}/{execution}/coder/apply#1")
    assert isinstance(data, dict)
    return data["output"]


async def test_run_refuses_what_may_happen_only_once_and_run_once_runs_it(tmp_path: Path) -> None:
    workspace = workspace_at(tmp_path, "print('done')")
    error = await refusal(workspace, "CommandRunner.run", {"command": "it"})
    assert error.type == FailureType.FUNCTION_REFUSED
    assert error.message == (
        "command 'it' may run only once, and CommandRunner.run is retried when its worker is lost; "
        "use CommandRunner.run_once"
    )
    done = await call(workspace, "CommandRunner.run_once", {"command": "it"})
    assert isinstance(done, dict)
    assert (done["output"], done["passed"]) == ("done\n", True)


async def test_run_once_may_be_more_careful_than_the_worker_asks(tmp_path: Path) -> None:
    workspace = workspace_at(tmp_path, "print('done')", once=False)
    done = await call(workspace, "CommandRunner.run_once", {"command": "it"})
    assert isinstance(done, dict)
    assert done["passed"]


@pytest.mark.parametrize("function", ["CommandRunner.run", "CommandRunner.run_once"])
async def test_a_command_knows_its_call_or_what_it_is_about(tmp_path: Path, function: str) -> None:
    workspace = workspace_at(tmp_path, "")
    run = environment().info.workflow_id
    assert await shown(workspace, function) == f"{run}/first/coder/apply#1\n"
    assert await shown(workspace, function, "release") == f"{run}/first/release\n"
    assert await shown(workspace, function, "release", "later") == f"{run}/later/release\n"


@pytest.mark.parametrize("key", ["", "a b", "a\n", "x" * 201])
async def test_a_key_is_a_short_name(tmp_path: Path, key: str) -> None:
    error = await refusal(
        workspace_at(tmp_path, ""), "CommandRunner.run", {"command": "show", "key": key}
    )
    assert error.type == FailureType.FUNCTION_REFUSED
    assert "key: String should match pattern" in error.message


async def test_a_command_that_was_stopped_has_an_unknown_outcome(tmp_path: Path) -> None:
    workspace = workspace_at(tmp_path, "import signal; signal.pause()", timeout=0.5)
    error = await refusal(workspace, "CommandRunner.run_once", {"command": "it"})
    assert error.type == FailureType.OUTCOME_UNKNOWN
    assert "command 'it' did not end within 0.5 s and was stopped" in error.message


async def test_a_command_that_cannot_be_started_has_not_happened(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, {"it": Command("it", ("no-such-program",), once=True)})
    error = await refusal(workspace, "CommandRunner.run_once", {"command": "it"})
    assert error.type == FailureType.FUNCTION_FAILED
    assert list((tmp_path / ".coterie" / "calls").iterdir()) == []


async def test_a_verification_waits_until_what_was_lost_has_ended(tmp_path: Path) -> None:
    """The worker has lost the call and does not know it yet: its command is still at work.

    A later run with the same id waits for it, too: the earlier one may have been terminated.
    """
    later = f"{environment().info.workflow_id}/later/look#1"
    for name in ("begun", "go"):
        os.mkfifo(tmp_path / name)
    slow = "open('begun', 'w').write('yes'); open('go').read(); open('done', 'w').write('yes')"
    workspace = workspace_at(tmp_path, slow)
    lost = asyncio.ensure_future(
        call(workspace, "CommandRunner.run_once", {"command": "it", "key": "release"})
    )
    await said(tmp_path / "begun")
    looks = "import os; print(os.path.exists('done'))"
    looking = Workspace(tmp_path, {"look": Command("look", ("{python}", "-c", looks))})
    about: JsonValue = {"command": "look", "key": "release"}
    verified = asyncio.ensure_future(call(looking, "CommandRunner.run", about, key=later))
    other = await call(looking, "CommandRunner.run", {"command": "look", "key": "other"})
    assert isinstance(other, dict)
    assert other["output"] == "False\n", "what is about something else does not wait"
    assert not verified.done()
    await asyncio.to_thread((tmp_path / "go").write_text, "on")
    seen = await verified
    assert isinstance(seen, dict)
    assert seen["output"] == "True\n"
    await lost
    assert list((tmp_path / ".coterie" / "calls").iterdir()) == []


async def test_lock_of_a_killed_worker_is_free_once_its_command_is_dead(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "begun")
    worker = f"""
import asyncio, os
from pathlib import Path
from tests.activity.tool_functions.test_functions_once import BEGUN, call, workspace_at
asyncio.run(call(workspace_at(Path({str(tmp_path)!r}), BEGUN), "CommandRunner.run_once",
                 {{"command": "it", "key": "release"}}))
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", worker)
    await said(tmp_path / "begun")
    process.kill()
    await process.wait()
    assert await shown(workspace_at(tmp_path, ""), "CommandRunner.run", "release")
