"""A2A clients hear where a run is: each state once, from an activity, and nothing else of it."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from temporalio.testing import WorkflowEnvironment

from coterie.activities.workspace.web_access import WebAccess
from tests.support.engine import engine, trail
from tests.support.project import until
from tests.support.runs import Handle, asked, decide, failure, refused, scheduled, sent
from tests.support.servers.receiver import Receiver, receiver

TEAM = """
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - {name: first, type: approval, prompt: "First?"}
        - {name: second, type: approval, prompt: "Second?", deadline: 1d, on_timeout: reject}
"""
TALK = """
orchestration:
  entry_team: desk
  max_messages: 3
  teams:
    desk:
      tasks:
        - {name: heard, type: wait, message: true}
        - {name: told, type: reply, value: "heard {{ tasks.heard.data }}"}
      routing: {default: desk}
"""


def access(there: Receiver) -> WebAccess:
    """What lets a worker reach the receiver, which has a private address."""
    parts = urlsplit(there.url)
    return WebAccess(push_hosts=("127.0.0.1",), private_hosts=(f"127.0.0.1:{parts.port}",))


def config(there: Receiver, **changed: object) -> Mapping[str, object]:
    return {"id": "one", "url": there.url, "token": "t-1", "context": "room", **changed}


def states(there: Receiver) -> list[str]:
    return [one.message["statusUpdate"]["status"]["state"] for one in there.deliveries]


async def test_each_state_is_sent_once_with_the_token_and_without_what_the_run_says(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    with receiver(503) as there:
        async with engine(env, tmp_path, [], web=access(there)) as running:
            handle: Handle = await running.start(TEAM)
            await asked(handle)
            assert await sent(handle, "push", config(there)) == 1
            assert await sent(handle, "push", config(there, token="t-2")) == 1, "replaced"
            await decide(handle, "work/first#1")
            await failure(handle)
            calls = await scheduled(handle)
        # between the two requests the run works for no time: that state is outdated at once
        found = ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_FAILED"]
        assert list(dict.fromkeys(states(there))) == found
        ids = {one.headers["webhook-id"] for one in there.deliveries}
        assert len(ids) == len([call for call in calls if call["type"] == "notify"])
        assert len(there.deliveries) == len(ids) + 1, "the refused one came again"
        for one in there.deliveries:
            assert one.headers["x-a2a-notification-token"] == "t-2"
            update = one.message["statusUpdate"]
            assert (update["taskId"], update["contextId"]) == (handle.id, "room")
            assert set(update) == {"taskId", "contextId", "status"}
            assert set(update["status"]) == {"state", "timestamp"}


async def test_a_session_sends_each_wait_for_a_message(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    with receiver() as there:
        async with engine(env, tmp_path, [], web=access(there)) as running:
            handle: Handle = await running.start(TALK)
            await sent(handle, "send_message", {"message": "hello"})
            await sent(handle, "push", config(there))
            await sent(handle, "send_message", {"message": "again"})
            await asyncio.to_thread(until, lambda: states(there), "the state")
            await sent(handle, "send_message", {"message": "the last"})
            await failure(handle)
        assert states(there) == ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_FAILED"]


@pytest.mark.parametrize("hosts", [(), ("hooks.example.com",)])
async def test_a_host_that_the_worker_does_not_name_hears_nothing_and_the_run_ends_alike(
    env: WorkflowEnvironment, tmp_path: Path, hosts: tuple[str, ...]
) -> None:
    with receiver() as there:
        async with engine(env, tmp_path, [], web=WebAccess(push_hosts=hosts)) as running:
            handle: Handle = await running.start(TEAM)
            await asked(handle)
            await sent(handle, "push", config(there, url=there.url.replace("http:", "https:")))
            await decide(handle, "work/first#1", "reject")
            await failure(handle)
            entries = await trail(handle)
            calls = await scheduled(handle)
        assert there.deliveries == []
        lost = [entry.because for entry in entries if entry.kind == "notice"]
        assert lost
        assert all("push_hosts" in because for because in lost)
        assert there.url not in str(lost), "an address may hold a secret"
        assert {call["type"] for call in calls} == {"notify"}


async def test_a_run_has_few_receivers_and_forgets_one_that_leaves(
    env: WorkflowEnvironment, tmp_path: Path
) -> None:
    with receiver() as there:
        async with engine(env, tmp_path, [], web=access(there)) as running:
            handle: Handle = await running.start(TEAM)
            await asked(handle)
            for number in range(5):
                await sent(handle, "push", config(there, id=str(number)))
            assert "at most 5" in await refused(handle, config(there, id="5"), "push")
            for number in range(5):
                await sent(handle, "push", {"id": str(number), "removed": True})
            await decide(handle, "work/first#1", "reject")
            await failure(handle)
            calls = await scheduled(handle)
        assert (calls, there.deliveries) == ([], []), "nothing costs without a receiver"
