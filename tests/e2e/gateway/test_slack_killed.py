"""People decide in Slack with signatures of the gateway, without a worker, and over `kill -9`."""

import asyncio
import json
import re
import signal
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from coterie.failures import ExitCode
from coterie.gateway.app import application
from coterie.gateway.doors.slack.slack_door import SlackDoor
from coterie.gateway.identity.access_settings import load_access
from coterie.gateway.operations.run_access import RunAccess
from coterie.runs.histories.history_events import read_events
from coterie.runs.histories.recorded_events import UpdateAccepted
from coterie.runs.run_client import Run
from coterie.server.connection import open_connection
from coterie.settings import load
from coterie.signing.key_files import generate, write_key
from coterie.signing.signers import issue
from tests.e2e.gateway.conftest import TALK, said
from tests.e2e.gateway.door_teams import DEAL
from tests.support.cli import DESK
from tests.support.gateway import begun, by_header, client_of, described
from tests.support.platforms.slack_platform import (
    SECRET,
    TOKEN,
    WORKSPACE,
    SlackPlatform,
    event,
    signed_headers,
    slack_platform,
)
from tests.support.platforms.slack_requests import posted
from tests.support.programs.command_server import Running
from tests.support.project import Project, project, until

ANN = "U0001"
AGAIN = {"x-slack-retry-num": "1"}
"""With a message that Slack sends again."""


@dataclass
class SlackDesk:
    """A project whose runs take signed decisions alone, with its worker and its gateway."""

    project: Project
    platform: SlackPlatform
    root: str
    worker: Running
    gateway: Running | None = None
    url: str = ""

    def serve(self) -> None:
        """Start the gateway, at the address of the one before."""
        ready, port = said_ready(self.project) + 1, self.url.rpartition(":")[2] or "0"
        self.gateway = self.project.begin(
            "serve", "--port", port, "--no-browser", "--no-worker", "--key", "desk.key"
        )
        until(lambda: said_ready(self.project) == ready, "the gateway")
        self.url = re.findall(r"serving +(http://[^ ;]+);", said(self.project))[-1]

    def kill(self) -> None:
        """`kill -9` of the gateway."""
        assert self.gateway is not None
        self.gateway.kill()
        self.gateway.wait(30)

    async def press(self, body: bytes, at: str = "interactions", **more: str) -> int:
        """Send a press as Slack does; return the status of the answer."""
        async with httpx2.AsyncClient(trust_env=False, timeout=60) as http:
            url, headers = f"{self.url}/slack/{at}", {**signed_headers(body), **more}
            return (await http.post(url, content=body, headers=headers)).status_code

    async def message(self, body: bytes, **more: str) -> None:
        """Send a message as Slack does, until a worker has taken it."""
        while (status := await self.press(body, "events", **more)) == 503:
            more = AGAIN
        assert status == 200

    async def changed(self) -> dict[str, Any]:
        """The message with the button, once the gateway has changed it."""
        while True:
            answers = await asyncio.to_thread(self.platform.sent, "response", 1)
            for answer in answers:
                if answer["replace_original"]:
                    return answer
            await asyncio.sleep(0.05)  # until the other answer is there

    async def updates(self, run: str) -> list[UpdateAccepted]:
        history = await Run(await self.project.client(), run).history()
        return [it for it in read_events(history.events) if isinstance(it, UpdateAccepted)]


def said_ready(made: Project) -> int:
    """How many gateways have begun to listen."""
    file = made.folder / "serve.log"
    return len(re.findall("open +http", file.read_text())) if file.exists() else 0


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlackDesk]:
    root = generate("root")
    key = issue(root, "gateway", "desk", life=timedelta(hours=1), now=datetime.now(UTC))
    folder = tmp_path_factory.mktemp("slack") / "desk"
    variables = {"SLACK_SECRET": SECRET, "SLACK_TOKEN": TOKEN}
    with slack_platform() as platform, project(folder, variables, sample=DESK) as made:
        for file in (folder / "config/teams").iterdir():
            file.unlink()
        (folder / "config/teams/deal.yml").write_text(DEAL)
        (folder / "config/teams/talk.yml").write_text(TALK)
        write_key(folder / "desk.key", key)
        made.configure(
            worker={"decisions": {"signed": "required", "root": root.public}},
            access={
                "slack": {
                    "signing_secret_env": "SLACK_SECRET",
                    "bot_token_env": "SLACK_TOKEN",
                    "api": f"{platform.url}/api",
                    "team": "talk",
                    "users": {f"{WORKSPACE}/{ANN}": "ann"},
                },
                "grants": [{"roles": ["approver", "starter", "viewer"], "subjects": ["ann"]}],
            },
        )
        made.coterie("server")
        desk = SlackDesk(made, platform, root.public, made.begin("worker"))
        desk.serve()
        yield desk
        desk.worker.send_signal(signal.SIGCONT)


@pytest.fixture(autouse=True)
def _empty(desk: SlackDesk) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    desk.platform.calls.clear()
    yield
    desk.platform.open.set()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def keyless(desk: SlackDesk) -> AsyncIterator[object]:
    """Another gateway of the project, without a key."""
    settings = load(desk.project.environment, desk.project.folder)
    access = RunAccess(settings, await open_connection(settings))
    door = SlackDoor(access, load_access(settings))
    yield application(access, by_header, door.routes())
    await door.close()


async def asked(app: object, desk: SlackDesk, price: int) -> tuple[str, bytes]:
    """A run that waits for a decision, and the press that approves it."""
    run = await begun(app, "deal", price=price)
    message, value = await posted(app, run)
    return run, desk.platform.press(ANN, "coterie_approve", value, message)


async def test_the_key_of_the_gateway_signs_for_the_person_who_pressed(
    keyless: object, desk: SlackDesk
) -> None:
    run, body = await asked(keyless, desk, 1)
    async with client_of(keyless) as http:
        headers = signed_headers(body)
        await http.post("/slack/interactions", content=body, headers=headers)
    (refused,) = await asyncio.to_thread(desk.platform.sent, "response")
    assert refused["replace_original"] is False
    assert "--key" in refused["text"]
    assert await desk.updates(run) == []
    desk.platform.calls.clear()
    assert await desk.press(body) == 200
    assert "Approved by ann" in json.dumps((await desk.changed())["blocks"])
    verified = desk.project.coterie("verify", run, "--root", desk.root)
    assert verified.returncode == ExitCode.DONE, verified.stderr
    assert "approved only/sign#1: ann by slack at" in verified.stdout


async def test_a_press_is_answered_before_any_worker_takes_the_decision(
    keyless: object, desk: SlackDesk
) -> None:
    run, body = await asked(keyless, desk, 2)
    desk.worker.send_signal(signal.SIGSTOP)
    assert await desk.press(body) == 200
    assert desk.platform.calls == []
    assert await desk.updates(run) == []
    desk.worker.send_signal(signal.SIGCONT)
    assert "Approved by ann" in json.dumps((await desk.changed())["blocks"])
    assert len(await desk.updates(run)) == 1


@pytest.mark.parametrize("is_decided", [False, True], ids=["before the run", "after the run"])
async def test_a_press_after_a_killed_gateway_decides_once_and_replaces_the_buttons(
    keyless: object, desk: SlackDesk, is_decided: bool
) -> None:
    run, body = await asked(keyless, desk, 3)
    desk.platform.unanswered.clear()
    desk.platform.open.clear()
    if not is_decided:
        desk.worker.send_signal(signal.SIGSTOP)
    assert await desk.press(body) == 200
    if is_decided:  # the gateway says so, and nobody hears it
        assert await asyncio.to_thread(desk.platform.unanswered.wait, 30)
    assert len(await desk.updates(run)) == is_decided
    desk.kill()
    desk.platform.open.set()
    desk.serve()
    desk.worker.send_signal(signal.SIGCONT)
    assert await desk.press(body) == 200
    assert "Approved by ann" in json.dumps((await desk.changed())["blocks"])
    assert len(await desk.updates(run)) == 1
    assert (await described(keyless, run, "completed"))["result"]["decisions"][0]["by"] == "ann"


async def test_a_message_delivered_again_after_a_killed_gateway_gets_one_reply(
    desk: SlackDesk,
) -> None:
    body = event(ANN, "<@U000A> where is it?", "1700000000.000100")
    desk.platform.unanswered.clear()
    desk.platform.open.clear()
    await desk.message(body)
    assert await asyncio.to_thread(desk.platform.unanswered.wait, 30)
    desk.kill()
    desk.platform.open.set()
    desk.serve()
    await desk.message(body, **AGAIN)
    (reply,) = await asyncio.to_thread(desk.platform.sent, "chat.postMessage")
    assert (reply["text"], reply["thread_ts"]) == ("heard where is it?", "1700000000.000100")
    await desk.message(body)
    client = await desk.project.client()
    (run,) = [it.id async for it in client.list_workflows("WorkflowId STARTS_WITH 'talk-slack-'")]
    assert len(await desk.updates(run)) == 1
    assert len(desk.platform.sent("chat.postMessage")) == 1


async def test_the_next_gateway_posts_a_reply_of_which_slack_will_not_send_the_message_again(
    desk: SlackDesk,
) -> None:
    body = event(ANN, "<@U000A> is it <late>?", "1700000001.000100")
    desk.platform.unanswered.clear()
    desk.platform.open.clear()
    await desk.message(body)
    assert await asyncio.to_thread(desk.platform.unanswered.wait, 30)
    desk.kill()
    desk.platform.open.set()
    desk.serve()
    (reply,) = await asyncio.to_thread(desk.platform.sent, "chat.postMessage", 1, 60)
    assert reply["text"] == "heard is it &lt;late&gt;?"
    assert (reply["channel"], reply["thread_ts"]) == ("C1", "1700000001.000100")
    await desk.message(body, **AGAIN)
    thread = {"thread_ts": "1700000001.000100"}
    await desk.message(event(ANN, "<@U000A> and now?", "1700000002.000100", **thread))
    replies = await asyncio.to_thread(desk.platform.sent, "chat.postMessage", 2)
    assert [it["text"] for it in replies] == [reply["text"], "heard and now?"]
