"""Calls of more than ten minutes run in processes that outlive the worker's activities."""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import JsonValue
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from coterie.activities.contracts import FunctionRequest
from coterie.activities.tool_functions.function_activity import FunctionActivities
from coterie.activities.tool_functions.function_registry import TOOL_FUNCTIONS, AnyFunction
from coterie.activities.tool_functions.functions.python_functions import PythonFunction, find_tools
from coterie.activities.tool_functions.long_calls.job_folder import JobFolder
from coterie.activities.tool_functions.long_calls.long_call import LongCalls
from coterie.activities.user_code.child_pool import UserCode
from coterie.activities.workspace.function_base import Command, Workspace
from coterie.dsl.model.tools.asked_input import AskedInput, GivenInput
from tests.activity.tool_functions.test_functions_commands import FAMILY, all_dead, python
from tests.support.project import until
from tests.support.tool_functions import MAX_WAIT, environment

WAITS = """
import os, time
with open("ledger", "a") as file:
    print("begun", file=file)
while not os.path.exists("free"):
    time.sleep(0.01)
print("built")
"""
TOOLS = '''
import os, time
from pathlib import Path

from coterie import ToolContext, tool


@tool(effect="read", timeout=700, secrets=["KEY"])
def digs(depth: int, context: ToolContext) -> str:
    """Dig."""
    with open("ledger", "a") as file:
        print("begun", context.progress, file=file)
    context.heartbeat(depth)
    while not os.path.exists("free"):
        time.sleep(0.01)
    return f"{depth} {len(context.secret('KEY'))}"


@tool(effect="read", timeout=700, secrets=["KEY"])
def leaks(depth: int, context: ToolContext) -> str:
    """Fail with what it knows."""
    raise RuntimeError("refused with " + context.secret("KEY"))
'''


async def when(ready: Callable[[], bool]) -> None:
    """Wait for what another process does."""
    await asyncio.to_thread(until, ready, "it", MAX_WAIT)


def stored(folder: Path) -> dict[str, str]:
    """The files of all long calls."""
    return {file.name: file.read_text() for file in folder.rglob("jobs/*/*")}


class Caller:
    """Makes the activities of one call, like a run."""

    def __init__(
        self,
        folder: Path,
        code: str = WAITS,
        functions: Mapping[str, AnyFunction] = TOOL_FUNCTIONS,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        command = python(code, timeout=700)
        once = Command("once", command.run, timeout=700, once=True)
        names = {"it": command, "once": once}
        workspace = Workspace(folder, names, environment=dict(environment))
        self.folder = folder
        self.activities = FunctionActivities(workspace, functions, long_calls=LongCalls())
        self.asked: AskedInput | None = None

    async def make(
        self,
        function: str = "CommandRunner.run",
        given: JsonValue = None,
        *,
        at: ActivityEnvironment | None = None,
    ) -> JsonValue:
        """One activity: the result, or None if the call goes on."""
        request = FunctionRequest(
            skill=function,
            input=given or {"command": "it"},
            key="run-1/coder#1/build",
            given_input=None if self.asked is None else GivenInput(asked=self.asked),
        )
        at = at or environment(timeout=3660 if self.asked is None else 300)
        try:
            return (await at.run(self.activities.call_function, request)).data
        except ApplicationError as error:
            if error.type != "InputRequired":
                raise
            self.asked = AskedInput.model_validate(error.details[1])
            return None

    async def ends(self, function: str, given: JsonValue = None) -> str:
        """The type of the failure that the next activity ends in."""
        with pytest.raises(ApplicationError) as caught:
            await self.make(function, given)
        return caught.value.type or ""

    def free(self) -> None:
        """Let the work come to its end."""
        (self.folder / "free").touch()

    async def ledger(self, lines: int = 1) -> list[str]:
        """What the work has written, once it has so many lines."""
        file = self.folder / "ledger"
        await when(lambda: file.exists() and len(file.read_text().splitlines()) >= lines)
        return await asyncio.to_thread(lambda: file.read_text().splitlines())

    def process(self) -> int:
        """The process of the call."""
        [folder] = (self.folder / ".coterie" / "jobs").iterdir()
        return int((folder / "lock").read_text())

    async def kill(self, begun: int = 1) -> None:
        """`kill -9` of the process of the call, once its work has begun so many times."""
        await self.ledger(begun)
        pid = self.process()
        os.kill(pid, signal.SIGKILL)
        await when(lambda: not Path(f"/proc/{pid}").exists())  # its lock is free then


async def test_a_long_command_is_started_by_one_activity_and_collected_by_another(
    tmp_path: Path,
) -> None:
    caller = Caller(tmp_path)
    assert await caller.make() is None
    assert caller.asked is not None
    assert caller.asked.continues
    await caller.ledger()
    assert await caller.make(at=environment(timeout=2)) is None, "it returns before it is cut off"
    caller.free()
    result = await caller.make()
    assert isinstance(result, dict)
    assert (result["output"], result["passed"]) == ("built\n", True)
    assert await caller.make() == result, "an attempt whose result was lost finds it again"
    assert await caller.ledger() == ["begun"]


async def test_another_attempt_to_start_it_finds_its_process(tmp_path: Path) -> None:
    caller = Caller(tmp_path)
    at = environment(timeout=3660)
    assert await caller.make(at=at) is None
    first, caller.asked = caller.asked, None
    assert await caller.make(at=environment(attempt=2, timeout=3660)) is None
    assert caller.asked == first
    caller.free()
    assert await caller.make()
    assert await caller.ledger() == ["begun"]


async def test_a_short_limit_keeps_the_call_in_its_activity(tmp_path: Path) -> None:
    caller = Caller(tmp_path)
    caller.free()
    assert await caller.make(at=environment(timeout=600))
    assert not (tmp_path / ".coterie" / "jobs").exists()


async def test_a_killed_process_is_begun_again_if_that_does_no_harm(tmp_path: Path) -> None:
    caller = Caller(tmp_path)
    await caller.make()
    await caller.kill()
    again = asyncio.create_task(caller.make())
    assert await caller.ledger(2) == ["begun", "begun"]
    caller.free()
    result = await again
    assert isinstance(result, dict)
    assert result["passed"]


async def test_a_process_that_is_killed_again_and_again_is_a_failure(tmp_path: Path) -> None:
    caller = Caller(tmp_path)
    await caller.make()
    for times in (1, 2):  # the retries of its contract
        await caller.kill(times)
        assert await caller.make(at=environment(timeout=4)) is None
    await caller.kill(3)
    assert await caller.ends("CommandRunner.run") == "FunctionFailed"


async def test_a_process_that_must_end_with_its_machine_is_begun_again(
    tmp_path: Path,
) -> None:
    caller = Caller(tmp_path)
    await caller.make()
    await caller.ledger()
    os.kill(caller.process(), signal.SIGTERM)
    await when(lambda: "end.json" in stored(tmp_path))
    again = asyncio.create_task(caller.make())
    assert await caller.ledger(2) == ["begun", "begun"]
    caller.free()
    assert await again


async def test_a_worker_that_dies_while_it_begins_a_call_again_loses_nothing(
    tmp_path: Path,
) -> None:
    caller = Caller(tmp_path)
    await caller.make()
    await caller.kill()
    [folder] = (tmp_path / ".coterie" / "jobs").iterdir()
    JobFolder(tmp_path / ".coterie", folder.name).forget()  # and then it dies
    again = asyncio.create_task(caller.make())
    assert await caller.ledger(2) == ["begun", "begun"]
    caller.free()
    assert await again


async def test_the_retries_of_the_tool_bound_how_often_a_call_is_begun_again(
    tmp_path: Path,
) -> None:
    caller = Caller(tmp_path)
    at = environment(timeout=3660)
    at.info = replace(at.info, retry_policy=RetryPolicy(maximum_attempts=1))
    await caller.make(at=at)
    await caller.kill()
    assert await caller.ends("CommandRunner.run") == "FunctionFailed"
    assert await caller.ledger() == ["begun"]


async def test_a_long_command_of_an_agents_own_code_is_one_activity(tmp_path: Path) -> None:
    caller = Caller(tmp_path)
    caller.free()
    request = FunctionRequest(skill="CommandRunner.run", input={"command": "it"}, key="run-1/x#1/y")
    result = await environment(timeout=3660).run(caller.activities.call_for_agent, request)
    assert isinstance(result.data, dict)
    assert result.data["output"] == "built\n"


async def test_a_variable_that_is_no_text_stays_with_the_worker(tmp_path: Path) -> None:
    caller = Caller(tmp_path, environment={**os.environ, "ODD": "\udcff"})
    assert await caller.make() is None
    caller.free()
    assert await caller.make()


async def test_a_killed_process_of_a_call_that_may_happen_once_has_an_unknown_outcome(
    tmp_path: Path,
) -> None:
    caller = Caller(tmp_path)
    given: JsonValue = {"command": "once"}
    await caller.make("CommandRunner.run_once", given)
    await caller.kill()
    assert await caller.ends("CommandRunner.run_once", given) == "OutcomeUnknown"
    assert await caller.ledger() == ["begun"]


async def test_cancelling_a_call_ends_everything_that_it_started(tmp_path: Path) -> None:
    caller = Caller(tmp_path, FAMILY)
    await caller.make()
    at = environment(timeout=300)
    asking = asyncio.create_task(caller.make(at=at))
    await when((tmp_path / "started").exists)
    at.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await all_dead(tmp_path)


async def test_a_call_that_nobody_wants_any_more_is_ended_from_any_worker(tmp_path: Path) -> None:
    caller = Caller(tmp_path, FAMILY)
    await caller.make()
    await when((tmp_path / "started").exists)
    assert caller.asked is not None
    assert caller.asked.task is not None
    unwanted = caller.asked.task.model_copy(update={"unwanted": True})
    caller.asked = caller.asked.model_copy(update={"task": unwanted})
    assert await caller.make() is None
    await all_dead(tmp_path)


async def test_a_worker_that_does_not_know_the_process_lets_others_look(tmp_path: Path) -> None:
    caller, other = Caller(tmp_path / "one"), Caller(tmp_path / "two")
    await caller.make()
    other.asked = caller.asked
    assert await other.make(at=environment(timeout=4)) is None
    assert other.asked is not None
    assert other.asked.task is not None
    assert other.asked.task.silent == 1
    caller.free()
    assert await caller.make()


async def test_a_long_function_keeps_its_progress_and_its_secrets_off_the_disk(
    tmp_path: Path,
) -> None:
    (tmp_path / "deep_tools.py").write_text(TOOLS)
    user_code = UserCode(tmp_path, {}, (str(tmp_path),))
    [found, _] = await find_tools(user_code, ["deep_tools"])
    function = PythonFunction(found, user_code, {"KEY": "s3cret-value"})
    caller = Caller(tmp_path, functions={function.name: function})
    await caller.make(function.name, {"depth": 3}, at=environment(timeout=730))
    await when(lambda: "progress.json" in stored(tmp_path))
    await caller.kill()
    again = asyncio.create_task(caller.make(function.name, {"depth": 3}))
    assert await caller.ledger(2) == ["begun None", "begun 3"]
    caller.free()
    assert await again == "3 12"
    assert "s3cret" not in str(stored(tmp_path))
    await user_code.close()


async def test_a_secret_in_the_words_of_a_failure_is_masked_before_they_are_stored(
    tmp_path: Path,
) -> None:
    (tmp_path / "deep_tools.py").write_text(TOOLS)
    user_code = UserCode(tmp_path, {}, (str(tmp_path),))
    [_, found] = await find_tools(user_code, ["deep_tools"])
    function = PythonFunction(found, user_code, {"KEY": "s3cret-value"})
    caller = Caller(tmp_path, functions={function.name: function})
    await caller.make(function.name, {"depth": 1}, at=environment(timeout=730))
    await when(lambda: "end.json" in stored(tmp_path))
    assert "raised RuntimeError" in stored(tmp_path)["end.json"]
    assert "s3cret" not in str(stored(tmp_path))
    await user_code.close()
