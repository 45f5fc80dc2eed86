"""A gateway killed while its A2A clients work with a task: nothing of the task is lost."""

import asyncio
import re
import time
from pathlib import Path
from typing import get_args
from urllib.parse import urlsplit

import httpx
from a2a.client.errors import A2AClientError
from a2a.types import ListTaskPushNotificationConfigsRequest, TaskPushNotificationConfig

from coterie.dsl.model.sections.access_document import RoleName
from coterie.gateway.identity.program_tokens import create_token
from coterie.runs.histories.history_events import read_events
from coterie.runs.histories.recorded_events import UpdateAccepted
from coterie.runs.run_client import Run
from tests.support.cli import DESK
from tests.support.programs.a2a_client import ASKED, DONE, a2a_client, events, sent, task_of, values
from tests.support.programs.command_server import Running
from tests.support.project import Project, project, until
from tests.support.servers.receiver import receiver

SLOW = """
orchestration:
  entry_team: work
  teams:
    work:
      tasks:
        - {name: draft, agent_type: generic_single_shot, persona_key: writer}
        - {name: pause, type: wait, signal: go}
        - {name: judge, agent_type: generic_single_shot, persona_key: judge,
           input: {text: "{{ tasks.draft.data.text }}"}}
        - {name: sign, type: approval, prompt: "Publish?"}
"""


def serve(desk: Project) -> tuple[Running, str]:
    """Start a gateway; its process, and its address."""
    log = desk.folder / "serve.log"
    before = len(log.read_text()) if log.exists() else 0
    running = desk.begin("serve", "--port", "0", "--no-browser", "--no-worker")

    def addresses() -> list[str]:
        return re.findall(r"serving +(http://[^ ;]+);", log.read_text()[before:])

    return running, until(addresses, "the gateway")[0]


def kill(gateway: Running) -> None:
    gateway.kill()
    gateway.wait()


async def test_no_state_output_or_answer_is_lost_when_the_gateway_is_killed(
    tmp_path: Path,
) -> None:
    with receiver() as there, project(tmp_path / "desk", sample=DESK) as desk:
        (desk.folder / "config/teams/slow.yml").write_text(SLOW)
        port = urlsplit(there.url).port
        web = {"push_hosts": ["127.0.0.1"], "private_hosts": [f"127.0.0.1:{port}"]}
        desk.configure(worker={"web": web})
        gateway, url = serve(desk)
        desk.begin("worker")
        file = desk.folder / ".coterie/tokens.json"
        secret = create_token(file, "desk", get_args(RoleName), ["*"], time.time(), 600)
        id = ""
        async with a2a_client(url, "slow", secret) as client:
            try:
                async for event in client.send_message(sent({"topic": "tides"}, id="once")):
                    id = id or event.task.id
                    if event.HasField("artifact_update") or event.task.artifacts:
                        config = TaskPushNotificationConfig(task_id=id, url=there.url, token="t")
                        await client.create_task_push_notification_config(config)
                        kill(gateway)
            except (A2AClientError, httpx.HTTPError):
                pass  # the connection broke
        assert gateway.returncode is not None, "the output of the first step did not come"
        run = Run(await desk.client(), id)
        await run.handle.signal("go", None)
        gateway, url = serve(desk)
        async with a2a_client(url, "slow", secret) as client:
            heard = await events(client, sent({"topic": "tides"}, id="once"))
            assert heard[0].task.id == id, "the same message started another run"
            asked = await task_of(client, id)
            assert asked.status.state == ASKED
            assert list(values(asked)) == ["work/draft", "work/judge"]
            listed = ListTaskPushNotificationConfigsRequest(task_id=id)
            (kept,) = (await client.list_task_push_notification_configs(listed)).configs
            assert (kept.id, kept.url, kept.token) == ("default", there.url, "")
            answer = sent("approve", seen=asked, id="yes")
            sending = asyncio.create_task(events(client, answer))
            async with asyncio.timeout(60):
                while True:
                    if await decided(run):
                        break
                    await asyncio.sleep(0.02)  # until the run has the answer
            kill(gateway)
            await asyncio.gather(sending, return_exceptions=True)
        gateway, url = serve(desk)
        async with a2a_client(url, "slow", secret) as client:
            await events(client, answer)
            ended = await task_of(client, id)
            assert ended.status.state == DONE
            assert list(values(ended)) == ["work/draft", "work/judge", "result"]
        assert await decided(run) == 1
        states = [one.message["statusUpdate"]["status"]["state"] for one in there.deliveries]
        assert states == ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED"]
        kill(gateway)


async def decided(run: Run) -> int:
    """How many decisions the run has taken."""
    taken = read_events((await run.history()).events)
    return sum(isinstance(it, UpdateAccepted) and it.name == "decide" for it in taken)
