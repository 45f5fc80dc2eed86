"""Whatever a user's class does, its worker and the worker's other calls go on."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.contracts import AgentResponse
from coterie.activities.user_code.child_pool import UserCode
from coterie.dsl.values import Json
from tests.support.agents import RecordingModel, environment, legacy_request, turn
from tests.support.watching.processes import is_running

HOSTILE = "tests.support.hostile_agents.Hostile"


@pytest.fixture
async def user_code(tmp_path: Path) -> AsyncGenerator[UserCode]:
    made = UserCode(tmp_path, {"LANG": "C.UTF-8", "NAMED": "yes"})
    yield made
    await made.close()


@pytest.fixture
def activities(user_code: UserCode) -> AgentActivities:
    return AgentActivities(RecordingModel(), agent_packages=["tests.support"], user_code=user_code)


async def does(activities: AgentActivities, what: str, **more: JsonValue) -> AgentResponse:
    inputs: Json = {"context": {"do": what, **more}}
    return await turn(activities, legacy_request("", inputs, {"agent_class": HOSTILE}))


def answer_text(response: AgentResponse) -> str:
    assert not response.success
    assert response.error is not None
    assert response.error.type == "AgentFailed"
    return response.error.message.removeprefix(f"task 'design': legacy agent {HOSTILE} ")


async def dead(pid: int) -> None:
    """Wait until the process has ended; whoever does not is found by the test's time limit."""
    while is_running(pid):  # noqa: ASYNC110  # processes of others have no Event
        await asyncio.sleep(0.02)


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


async def pids_in(file: Path) -> list[int]:
    while not (lines := _lines(file)):  # noqa: ASYNC110  # another process writes them
        await asyncio.sleep(0.02)
    return [int(line) for line in lines]


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("exit", "its process ended with exit code 3; the last line of its output: database is"),
        ("segfault", "its process was ended by SIGSEGV"),
        ("sys_exit", "raised SystemExit: enough"),
        ("base_exception", "raised KeyboardInterrupt"),
        ("wordless", "raised Wordless"),
        ("large", "replied with more than 8,000,000 bytes"),
        ("pickle", "returned data that is not JSON: data is a Hostile"),
        ("close", "its process ended"),
    ],
)
async def test_code_that_breaks_down_is_a_failure_that_says_how(
    activities: AgentActivities, what: str, says: str
) -> None:
    assert answer_text(await does(activities, what)).startswith(says)
    assert (await does(activities, "answer")).success


async def test_output_of_user_code_is_bounded_and_is_not_its_reply(
    activities: AgentActivities,
) -> None:
    assert (await does(activities, "print")).data == "printed"
    assert (await does(activities, "input")).data == ""


async def test_calls_of_a_package_share_a_warm_process_until_one_breaks_it(
    activities: AgentActivities,
) -> None:
    first, second = [(await does(activities, "answer")).data for _ in range(2)]
    assert isinstance(first, dict)
    assert second == {"pid": first["pid"], "calls": 2}
    assert first["pid"] != os.getpid()
    await does(activities, "exit")
    third = (await does(activities, "answer")).data
    assert isinstance(third, dict)
    assert third["calls"] == 1
    assert "tests.support.hostile_agents" not in sys.modules


async def test_a_fork_of_the_code_answers_once(activities: AgentActivities) -> None:
    assert (await does(activities, "fork")).data == "forked"
    answers = [(await does(activities, "answer")).data for _ in range(3)]
    assert [one["calls"] for one in answers if isinstance(one, dict)] == [1, 2, 3]


async def test_code_sees_the_environment_that_is_named_and_nothing_else(
    activities: AgentActivities, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    seen = (await does(activities, "environment")).data
    assert isinstance(seen, dict)
    assert seen.keys() - {"LC_CTYPE"} == {"LANG", "NAMED"}


async def test_code_that_never_ends_is_ended_in_time_and_blocks_nobody(
    activities: AgentActivities, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    context: Json = {"context": {"do": "loop", "pids": str(pids)}}
    wanted = legacy_request("", context, {"agent_class": HOSTILE})
    looping = asyncio.create_task(environment(timeout=12.0).run(activities.run_agent, wanted))
    [pid] = await pids_in(pids)
    assert (await does(activities, "answer")).success
    with pytest.raises(ApplicationError, match="did not end within 12 s and was stopped") as late:
        await looping
    assert (late.value.type, late.value.non_retryable) == ("Timeout", False)
    await dead(pid)


@pytest.mark.parametrize("kin", ["group", "session", "orphan"])
@pytest.mark.parametrize("wait", [True, False])
async def test_processes_that_code_starts_end_with_its_call(
    activities: AgentActivities, tmp_path: Path, wait: bool, kin: str
) -> None:
    pids = tmp_path / "pids"
    context: Json = {"context": {"do": "leave", "kin": kin, "pids": str(pids), "wait": wait}}
    at = environment()
    wanted = legacy_request("", context, {"agent_class": HOSTILE})
    leaving = asyncio.create_task(at.run(activities.run_agent, wanted))
    [pid] = await pids_in(pids)
    if wait:
        at.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
    else:
        assert (await leaving).data == "left"
    await dead(pid)


WORKER = """
import asyncio, sys
from pathlib import Path
from coterie.activities.user_code.child_messages import AgentCall
from coterie.activities.user_code.child_pool import (UserCode)

call = AgentCall(path=sys.argv[1], offered={}, config_names=("config",),
                 context={"do": "leave", "kin": "orphan", "wait": True, "pids": sys.argv[2]})
asyncio.run(UserCode(Path("."), {}).run(call))
"""


async def test_code_dies_with_its_worker(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    root = Path(__file__).parents[3]
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORKER, HOSTILE, str(pids), cwd=root, env={"PYTHONPATH": str(root)}
    )
    [pid] = await pids_in(pids)
    worker.send_signal(signal.SIGKILL)
    await worker.wait()
    await dead(pid)
