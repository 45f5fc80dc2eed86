"""A cancelled run ends within five seconds, leaves nothing running, and tells what it came to."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import CancelledError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Replayer

from coterie.activities.providers.provider import ProviderSettings
from coterie.activities.workspace.function_base import Command
from coterie.dsl.values import Json
from coterie.settings import load
from coterie.storage.wire import data_converter
from coterie.testing.simulation.case_server import time_skipping_server
from coterie.workflows.team import TeamWorkflow
from tests.support.engine import Engine, engine, trail
from tests.support.runs import asked
from tests.support.servers.raw_server import raw_server
from tests.support.watching.prepared_sandbox import prepared_sandbox
from tests.support.watching.processes import is_running, pid_in

Handle = Any
MOST_SECONDS = 30.0

HEAD = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer:
      timeout: 100s
      prompts: {user: Write.}
    builder:
      execution_plan:
        - {name: build, skill: CommandRunner.run, input: {command: stubborn}}
"""
ONE = (
    HEAD
    + """
orchestration:
  entry_team: work
  on_cancel: tidy
  teams:
    work:
      tasks:
        - {name: first, type: set, values: {done: 1}}
        - {TASK}
      routing: {default: null, context_updates: {later: true}}
    tidy:
      tasks:
        - name: tell
          type: set
          values:
            why: "{{ routing.reason }}"
            after: "{{ routing.from }}"
            done: "{{ teams.work.tasks.first.data.done }}"
      routing: {default: null, context_updates: {told: "{{ tasks.tell.data.why }}"}}
"""
)
FAN_OUT = (
    HEAD
    + """
orchestration:
  entry_team: begin
  on_cancel: tidy
  teams:
    begin:
      tasks: [{name: ready, type: set, values: {n: 1}}]
      routing: {rules: [{next_team: [model, person, command]}]}
    model:
      tasks: [{name: write, agent_type: generic_single_shot, persona_key: writer}]
    person:
      on_cancel: own
      tasks: [{name: sign, type: approval, prompt: "Well?", deadline: 1h}]
    command:
      tasks: [{name: build, agent_type: generic_orchestrating, persona_key: builder}]
    tidy:
      tasks: [{name: swept, type: set, values: {n: 1}}]
    own:
      tasks: [{name: gone, type: set, values: {n: 1}}]
"""
)
MODEL = "name: write, agent_type: generic_single_shot, persona_key: writer"
COMMAND = "name: build, agent_type: generic_orchestrating, persona_key: builder"


@pytest.fixture(scope="module")
async def server() -> AsyncGenerator[Client]:
    """The real server."""
    async with time_skipping_server(load()) as client:
        yield client


@asynccontextmanager
async def working(
    client: Client, folder: Path, url: str = "http://127.0.0.1:9", **options: Any
) -> AsyncGenerator[Engine]:
    """A worker whose model listens at the address, and whose command will not end when asked."""
    stubborn = Command(
        name="stubborn",
        run=(
            "sh",
            "-c",
            ("trap '' TERM; sleep 317 & echo $! > child; echo $$ > parent; wait; wait"),
        ),
    )
    provider = ProviderSettings(name="scripted", kind="openai", api_base=url)
    env = WorkflowEnvironment.from_client(client)
    async with engine(env, folder, [], {"stubborn": stubborn}, provider=provider, **options) as it:
        yield it


async def come(happened: Callable[[], bool]) -> None:
    for _ in range(6000):
        if happened():
            return
        await asyncio.sleep(0.01)  # between two looks
    raise AssertionError("it did not come about")


async def cancelled(handle: Handle, reason: str = "by ann: enough") -> Json:
    """Cancel the run; what it came to, once it has ended."""
    began = time.monotonic()
    await handle.cancel(reason=reason)
    with pytest.raises(WorkflowFailureError) as failed:
        await asyncio.wait_for(handle.result(), 4 * MOST_SECONDS)
    assert time.monotonic() - began < MOST_SECONDS
    assert isinstance(failed.value.cause, CancelledError)
    assert (await handle.query("status"))["state"] == "cancelled"
    await replayer().replay_workflow(await handle.fetch_history())
    return await handle.query("result")


def replayer() -> Replayer:
    return Replayer(
        workflows=[TeamWorkflow],
        workflow_runner=prepared_sandbox(everything=True),
        data_converter=data_converter,
        build_id="test",
    )


async def at_work(handle: Handle, state: str = "", step: str = "") -> None:
    """Wait until a step of the run is in progress, or that one is."""
    for _ in range(6000):
        status = await handle.query("status")
        doing = [one["step"] for one in status.get("doing", ())]
        if doing and state in ("", status["state"]) and (not step or step in doing):
            return
        await asyncio.sleep(0.02)  # between two looks
    raise AssertionError("no step began")


def alive(folder: Path) -> list[int]:
    """Those processes of the command that have not ended."""
    pids = [pid_in(folder / name) for name in ("parent", "child")]
    return [pid for pid in pids if pid is not None and is_running(pid)]


def expect_partial(result: Json) -> None:
    assert (result["end"], result["because"]) == ("cancelled", "cancelled by ann: enough")
    assert result["output"] == {"first": {"done": 1}}
    assert result["visits"] == {"work": 1, "tidy": 1}
    assert result["context"] == {"topic": "rain"}


async def test_a_model_call_is_cut_and_what_was_done_stays_readable(
    server: Client, tmp_path: Path
) -> None:
    async with raw_server(b"", hang=True) as model, working(server, tmp_path, model.url) as here:
        handle: Handle = await here.start(ONE.replace("TASK", MODEL), {"topic": "rain"})
        await asyncio.wait_for(model.asked.wait(), 60)
        began = time.monotonic()
        expect_partial(await cancelled(handle))
        await asyncio.wait_for(model.left.wait(), MOST_SECONDS)
        assert time.monotonic() - began < MOST_SECONDS
        shown = await trail(handle)
        assert [one.status for one in shown if one.step == "write"] == ["cut_off", "cancelled"]
        [word] = [entry.because for entry in shown if entry.kind == "control"]
        assert word == "cancelled by ann: enough"
        tidied = next(entry for entry in shown if (entry.kind, entry.team) == ("route", "tidy"))
        assert tidied.updated == ("told",)


async def test_a_command_and_its_children_are_killed_before_the_clean_up_begins(
    server: Client, tmp_path: Path
) -> None:
    async with working(server, tmp_path) as here:
        handle: Handle = await here.start(ONE.replace("TASK", COMMAND), {"topic": "rain"})
        await come(lambda: len(alive(tmp_path)) == 2)
        expect_partial(await cancelled(handle))
        assert alive(tmp_path) == []


@pytest.mark.parametrize(
    "task",
    ["name: wait, duration: 30d", "name: sign, type: approval, prompt: 'Well?', deadline: 1h"],
)
async def test_a_wait_ends_at_once_also_when_the_run_is_paused_and_never_stays_in_memory(
    server: Client, tmp_path: Path, task: str
) -> None:
    async with working(server, tmp_path, cached_runs=0) as here:
        handle: Handle = await here.start(ONE.replace("TASK", task), {"topic": "rain"})
        await at_work(handle)
        await handle.signal("pause", {"by": "ben"})
        expect_partial(await cancelled(handle))
        assert await handle.query("pending") == []


async def test_every_branch_of_a_fan_out_ends_and_each_clean_up_runs_once(
    server: Client, tmp_path: Path
) -> None:
    async with raw_server(b"", hang=True) as model, working(server, tmp_path, model.url) as here:
        handle: Handle = await here.start(FAN_OUT)
        await asyncio.wait_for(model.asked.wait(), 60)
        await come(lambda: len(alive(tmp_path)) == 2)
        await asked(handle)
        result = await cancelled(handle)
        assert alive(tmp_path) == []
        await asyncio.wait_for(model.left.wait(), MOST_SECONDS)
        assert result["visits"] == {
            "begin": 1,
            "model": 1,
            "person": 1,
            "command": 1,
            "tidy": 1,
            "own": 1,
        }


FINALLY = (
    HEAD
    + """
orchestration:
  entry_team: work
  cancel_timeout: LIMIT
  teams:
    work:
      tasks:
        - name: guarded
          type: try
          steps: [{name: long, type: wait, duration: 30d}]
          finally:
            - {name: quick, type: set, values: {n: 1}}
            - {name: slow, type: wait, duration: 1h}
"""
)


async def test_a_finally_has_its_time_and_no_more(server: Client, tmp_path: Path) -> None:
    async with working(server, tmp_path) as here:
        handle: Handle = await here.start(FINALLY.replace("LIMIT", "1s"))
        await at_work(handle)
        await cancelled(handle)
        found = [(entry.step, entry.status) for entry in await trail(handle)]
        assert ("guarded/long", "cancelled") in found
        assert ("guarded/quick", "success") in found
        assert ("guarded/slow", "cancelled") in found
        assert found[-2:] == [("guarded/finally", "cancelled"), ("guarded", "cancelled")]


async def test_a_run_that_cleans_up_says_so_and_is_not_paused_any_more(
    server: Client, tmp_path: Path
) -> None:
    async with working(server, tmp_path) as here:
        handle: Handle = await here.start(FINALLY.replace("LIMIT", "2s"))
        await at_work(handle)
        await handle.cancel()
        await at_work(handle, "stopping")
        await handle.signal("pause", {"by": "ben"})
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        refusals = [entry.because for entry in await trail(handle) if entry.kind == "refused"]
        assert refusals == ["the run is cancelled, and only cleans up"]


BOUNDED = (
    HEAD
    + """
orchestration:
  entry_team: work
  BOUND
  teams:
    work:
      max_recursion_depth: 3
      budgets: BUDGETS
      tasks:
        - name: guarded
          type: try
          steps:
            - {name: write, agent_type: generic_single_shot, persona_key: writer}
            - {name: hold, type: wait, duration: 1h}
          finally:
            - {LAST, on_failure: continue}
            - {name: swept, type: set, values: {n: 1}}
    end: {tasks: [{name: edit, agent_type: generic_single_shot, persona_key: writer}]}
"""
)
NONE = "cancel_timeout: 4s"
ASKS = "name: last, agent_type: generic_single_shot, persona_key: writer"
CALLS_END = "name: last, type: team, team: end"


@pytest.mark.parametrize(
    ("budgets", "bound", "last", "failed"),
    [
        ("{model_calls: {limit: 1, on_exceeded: route, next_team: end}}", NONE, ASKS, True),
        ("{model_calls: 1}", NONE, ASKS, True),
        (
            "null",
            "budgets: {model_calls: {limit: 1, on_exceeded: route, next_team: end}}",
            ASKS,
            True,
        ),
        ("null", "max_total_teams: 1", CALLS_END, False),
        ("null", NONE, "name: last, type: return, value: 1", False),
    ],
    ids=["routes", "stops", "routes the run", "teams", "returns"],
)
async def test_no_limit_that_a_finally_meets_undoes_or_renames_a_cancel(
    server: Client, tmp_path: Path, budgets: str, bound: str, last: str, failed: bool
) -> None:
    text = BOUNDED.replace("BUDGETS", budgets).replace("BOUND", bound).replace("LAST", last)
    answers: list[Json] = [{"task": name, "answer": "x"} for name in ("write", "last", "edit")]
    env = WorkflowEnvironment.from_client(server)
    async with engine(env, tmp_path, answers) as running:
        handle: Handle = await running.start(text)
        await at_work(handle, step="work/guarded/hold")
        result = await cancelled(handle)
        found = {entry.step: entry for entry in await trail(handle)}
        assert (result["end"], found["guarded"].status) == ("cancelled", "cancelled")
        assert result["visits"] == {"work": 1} | ({"end": 1} if "team" in last else {})
        if "return" not in last:
            assert found["guarded/swept"].status == "success", "a failure there changes nothing"
            assert found["guarded/last"].status == ("failure" if failed else "success")
        if failed:
            assert found["guarded/last"].because.startswith("BudgetExceeded: Budget exceeded: ")
