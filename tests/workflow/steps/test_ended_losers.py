"""What a losing branch has begun ends: its request to the provider, and its command's processes."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import WorkflowEnvironment

from coterie.activities.contracts import HEARTBEAT_EVERY, MAX_HEARTBEAT_DELAY
from coterie.activities.providers.provider import ProviderSettings
from coterie.activities.workspace.function_base import Command
from tests.support.engine import Engine, engine, trail
from tests.support.servers.raw_server import RawServer, raw_server
from tests.support.watching.processes import is_running, pid_in

MAX_SECONDS = 5.0
"""How long a loser may continue after its step has ended."""
PATIENCE = 60.0
TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: {timeout: 1h, prompts: {user: Write.}}
    builder: {execution_plan: [{name: build, skill: CommandRunner.run, input: {command: stubborn}}]}
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - name: first
          type: parallel
          JOIN
          branches:
            signalled: [{name: wake, type: wait, signal: woken}]
            QUICK
            model: [{name: write, agent_type: generic_single_shot, persona_key: writer}]
            command: [{name: build, agent_type: generic_orchestrating, persona_key: builder}]
        - {name: after, type: wait, signal: finished}
"""
STUBBORN = Command(
    name="stubborn",
    run=("sh", "-c", "trap '' TERM; sleep 317 & echo $! > child; echo $$ > parent; wait; wait"),
)


@pytest.fixture
async def model() -> AsyncGenerator[RawServer]:
    """A provider that takes a request and never answers."""
    async with raw_server(b"", hang=True) as server:
        yield server


@pytest.fixture
async def here(
    env: WorkflowEnvironment, tmp_path: Path, model: RawServer
) -> AsyncGenerator[Engine]:
    provider = ProviderSettings(name="scripted", kind="openai", api_base=model.url)
    commands = {STUBBORN.name: STUBBORN}
    async with engine(env, tmp_path, [], commands, provider=provider) as running:
        yield running


async def come(happened: Callable[[], bool]) -> None:
    for _ in range(round(PATIENCE / 0.02)):
        if happened():
            return
        await asyncio.sleep(0.02)  # between two looks
    raise AssertionError("it did not come about")


@pytest.mark.parametrize(
    ("join", "quick"),
    [
        ("join: any", ""),
        ("join: 2", "quick: [{name: quick, type: set, values: {n: 1}}]"),
    ],
)
async def test_losers_end_at_their_provider_and_on_the_machine_while_the_run_goes_on(
    here: Engine, model: RawServer, tmp_path: Path, join: str, quick: str
) -> None:
    """The run still waits when they end, so it is the step that ends them, not the run's end."""
    handle: Any = await here.start(TEAM.replace("JOIN", join).replace("QUICK", quick))
    await asyncio.wait_for(model.asked.wait(), PATIENCE)
    files = [tmp_path / name for name in ("parent", "child")]
    await come(lambda: None not in map(pid_in, files))
    processes = [pid for file in files if (pid := pid_in(file)) is not None]
    assert all(map(is_running, processes))
    assert not model.left.is_set()

    await handle.signal("woken")
    await asyncio.wait_for(model.left.wait(), PATIENCE)
    await come(lambda: not any(map(is_running, processes)))

    assert (await handle.query("status"))["state"] in ("running", "waiting")
    cut_off = [one.step for one in await trail(handle) if one.status == "cut_off"]
    assert cut_off == ["first/model/write"]
    await handle.signal("finished")
    output = (await handle.result())["output"]["first"]
    assert output["model"]["status"] == output["command"]["status"] == "cancelled"


def test_a_call_learns_of_its_end_soon_enough() -> None:
    """The server tells a call in its reply to a heartbeat that nobody needs it any more."""
    assert (HEARTBEAT_EVERY + MAX_HEARTBEAT_DELAY).total_seconds() <= MAX_SECONDS / 2
