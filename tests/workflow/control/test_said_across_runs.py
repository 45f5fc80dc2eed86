"""What a person said, and no turn has read yet, lives on in the next history and in a fork."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from temporalio import workflow
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from coterie.dsl.values import Json
from coterie.runs.histories.history_links import links
from coterie.settings import load
from coterie.testing.recording.recorder import recorded, recorded_run
from coterie.testing.simulation.case_server import time_skipping_server
from tests.support.engine import engine
from tests.support.runs import asked, decide, failure, scheduled, sent
from tests.workflow.tool_loops.test_steered_turns import ANSWERS, ONE, replay, said

Handle = Any


@pytest.fixture(scope="module")
async def server() -> AsyncGenerator[Client]:
    async with time_skipping_server(load()) as client:
        yield client


async def said_in(client: Client, id: str) -> list[list[Any]]:
    """What the turns of each history of a run read."""
    return [
        [
            one["input"].get("said")
            for one in await scheduled(client.get_workflow_handle(id, run_id=link.run_id))
            if one["type"] == "run_agent"
        ]
        async for link in links(client, id)
    ]


async def test_an_unread_message_moves_to_the_next_history(
    server: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suggested = 10_000

    def once(info: workflow.Info) -> bool:
        return info.continued_run_id is None and info.get_current_history_length() >= suggested

    monkeypatch.setattr(workflow.Info, "is_continue_as_new_suggested", once)
    async with engine(WorkflowEnvironment.from_client(server), tmp_path, ANSWERS) as running:
        handle: Handle = await running.start(ONE)
        await asked(handle)
        suggested = len((await handle.fetch_history()).events) + 1
        assert await sent(handle, "say", said("Use PostgreSQL.")) == "shop/order"
        await decide(handle, (await asked(handle))["id"])
        assert (await handle.result())["output"] == {"order": {"text": "PostgreSQL."}}
        assert await said_in(server, handle.id) == [[None], [["Use PostgreSQL."]]]
        run = await recorded_run(server, handle.id)
        [entry] = recorded(run, team="order", workspace=None).cases[0].says
        assert (entry.text, entry.by, entry.step, entry.during) == (
            "Use PostgreSQL.",
            "ann",
            "shop/order",
            "shop/order",
        )
        async for link in links(server, handle.id):
            await replay(server.get_workflow_handle(handle.id, run_id=link.run_id))


async def test_a_fork_begins_before_what_was_said_to_the_other_run(
    server: Client, tmp_path: Path
) -> None:
    async with engine(WorkflowEnvironment.from_client(server), tmp_path, ANSWERS) as running:
        first: Handle = await running.start(ONE)
        await asked(first)
        await sent(first, "say", said("Use PostgreSQL."))
        fork: Handle = await running.start_raw({"fork": {"run": first.id, "at": "shop#1"}})
        for handle, answer in ((fork, "MySQL."), (first, "PostgreSQL.")):
            await decide(handle, (await asked(handle))["id"])
            assert (await handle.result())["output"] == {"order": {"text": answer}}
            await replay(handle)
        assert await said_in(server, fork.id) == [[None, None]]
        assert await said_in(server, first.id) == [[None, ["Use PostgreSQL."]]]


async def test_a_fork_at_an_agent_that_failed_reads_once_again_what_was_said_to_it(
    server: Client, tmp_path: Path
) -> None:
    refused: Json = {"type": "ProviderRefused", "message": "no"}
    answers: list[Json] = [
        {"task": "order", "turn": 2, "contains": "Use PostgreSQL.", "error": refused},
        *ANSWERS,
    ]
    async with engine(WorkflowEnvironment.from_client(server), tmp_path, answers) as running:
        first: Handle = await running.start(ONE)
        await asked(first)
        await sent(first, "say", said("Use PostgreSQL."))
        await decide(first, (await asked(first))["id"])
        await failure(first)
        fork: Handle = await running.start_raw({"fork": {"run": first.id}})
        await decide(fork, (await asked(fork))["id"])
        await failure(fork)
        assert await said_in(server, fork.id) == [[["Use PostgreSQL."], None]]
        await replay(fork)
