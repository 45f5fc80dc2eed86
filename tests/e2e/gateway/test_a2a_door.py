"""The door for A2A clients, driven by the client of the SDK over both bindings."""

import asyncio
import re
import time
from typing import get_args

import httpx
import pytest
from a2a.client.errors import A2AClientError
from a2a.types import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    A2AError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from google.protobuf.json_format import MessageToDict

from coterie.dsl.model.sections.access_document import RoleName
from coterie.gateway.identity.program_tokens import create_token
from coterie.runs.histories.history_events import read_events
from coterie.runs.histories.recorded_events import RunStarted, UpdateAccepted
from coterie.runs.run_client import Run
from tests.e2e.gateway.conftest import said
from tests.support.programs.a2a_client import (
    ASKED,
    BINDINGS,
    DONE,
    a2a_client,
    events,
    exact_part,
    sent,
    task_of,
    value,
    values,
)
from tests.support.project import Project

TWICE = """
orchestration:
  entry_team: ask
  context: {order: {type: integer, default: 0}}
  output: {order: "{{ context.order }}"}
  teams:
    ask:
      tasks:
        - {name: first, type: approval, prompt: "First?"}
        - {name: second, type: approval, prompt: "Second?"}
"""
LARGE = 9_007_199_254_740_993


RISKY = """
orchestration:
  entry_team: send
  teams:
    send:
      tasks:
        - {name: send, type: fail, message: "no network", on_failure: ask}
"""


def address(served: Project) -> str:
    return re.findall(r"serving +(http://[^ ;]+);", said(served))[0]


def token(served: Project, name: str, *roles: str, teams: str = "*") -> str:
    file = served.folder / ".coterie/tokens.json"
    given = [role for role in get_args(RoleName) if not roles or role in roles]
    return create_token(file, name, given, [teams], time.time(), 600)


@pytest.fixture(scope="module")
def secret(served: Project) -> str:
    """A token with every role."""
    (served.folder / "config/teams/twice.yml").write_text(TWICE)
    return token(served, "a2a")


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_task_asks_takes_an_answer_and_ends_with_its_result(
    served: Project, secret: str, binding: str
) -> None:
    async with a2a_client(address(served), "article", secret, binding) as client:
        heard = await events(client, sent({"topic": "tides"}))
        task = heard[0].task
        last = heard[-1].status_update.status if len(heard) > 1 else task.status
        assert last.state == ASKED
        text, facts = (value(part) for part in last.message.parts)
        assert "Publish It rains." in str(text)
        (request,) = facts["requests"]
        assert request["request"] == "review/sign_off#1"
        assert request["decisions"] == ["approve", "reject"]
        asked = await task_of(client, task.id)
        assert values(asked) == {
            "writing/draft": "It rains.",
            "review/judge": {"verdict": "good"},
        }
        decision = {"decision": "approve", "comment": "fine", "digest": request["digest"]}
        answered = await events(client, sent(decision, task=task.id))
        assert {one.WhichOneof("payload") for one in answered[:1]} == {"task"}
        ended = await task_of(client, task.id)
        assert ended.status.state == DONE
        result = values(ended)["result"]
        assert result["sign_off"]["by"] == "token a2a"
        assert result["sign_off"]["comment"] == "fine"
        with pytest.raises(UnsupportedOperationError, match="waits for no message"):
            await events(client, sent("approve", task=task.id))
        with pytest.raises(UnsupportedOperationError):
            async for _ in client.subscribe(SubscribeToTaskRequest(id=task.id)):
                pass


async def test_a_message_that_comes_again_starts_nothing_and_decides_nothing(
    served: Project, secret: str
) -> None:
    async with a2a_client(address(served), "twice", secret, streams=False) as client:
        starts = await asyncio.gather(
            *(events(client, sent({"order": 7}, id="order-7")) for _ in range(5))
        )
        (id,) = {heard[-1].task.id for heard in starts}
        asked = starts[0][-1].task
        yes = sent("approve", seen=asked, id="yes-1")
        answers = [await events(client, yes) for _ in range(3)]
        assert "Second?" in answers[-1][-1].task.status.message.parts[0].text
        history = await Run(await served.client(), id).history()
        recorded = list(read_events(history.events))
        updates = [it for it in recorded if isinstance(it, UpdateAccepted)]
        assert [it.name for it in updates] == ["decide"]
        senders = [it.sender for it in recorded if isinstance(it, RunStarted | UpdateAccepted)]
        assert [it and (it.subject, it.door) for it in senders] == [("a2a", "a2a")] * 2
        for late in (sent("approve", seen=asked), sent("approve", task=id)):
            with pytest.raises(UnsupportedOperationError, match=r"Waiting: ask/second#1 \(digest"):
                await events(client, late)
        current = answers[-1][-1].task
        heard = await events(client, sent("reject\nnot now", seen=current, id="no-2"))
        assert heard[-1].task.status.state == TaskState.TASK_STATE_FAILED
    other = token(served, "a2a-other")
    async with a2a_client(address(served), "twice", other, streams=False) as client:
        heard = await events(client, sent({"order": 7}, id="order-7"))
        assert heard[-1].task.id != id, "ids of messages are those of one client"


async def test_a_failed_task_is_retried_and_skipped_as_the_client_has_seen_it(
    served: Project, secret: str
) -> None:
    (served.folder / "config/teams/risky.yml").write_text(RISKY)
    async with a2a_client(address(served), "risky", secret, streams=False) as client:
        first = (await events(client, sent({})))[-1].task
        second = (await events(client, sent("retry", seen=first)))[-1].task
        requests = [value(task.status.message.parts[1])["requests"] for task in (first, second)]
        assert [asked["request"] for (asked,) in requests] == [
            "send/send/failed#1",
            "send/send/failed#2",
        ]
        old = {"decision": "skip", "digest": requests[0][0]["digest"]}
        for late in (sent("retry", seen=first), sent(old, task=first.id)):
            with pytest.raises(UnsupportedOperationError, match=r"Waiting: send/send/failed#2"):
                await events(client, late)
        skip = {"decision": "skip", "digest": requests[1][0]["digest"], "comment": "by hand"}
        heard = await events(client, sent(skip, task=first.id))
        assert heard[-1].task.status.state == DONE
        history = await Run(await served.client(), first.id).history()
        updates = [it for it in read_events(history.events) if isinstance(it, UpdateAccepted)]
        assert [it.name for it in updates] == ["retry", "skip"]


async def test_integers_beyond_two_to_the_53_arrive_and_leave_as_json_texts(
    served: Project, secret: str
) -> None:
    async with a2a_client(address(served), "twice", secret, streams=False) as client:
        with pytest.raises(InvalidParamsError, match="order is beyond"):
            await events(client, sent({"order": LARGE}))
        heard = await events(client, sent(exact_part({"order": LARGE})))
        for _ in range(2):
            heard = await events(client, sent("approve", seen=heard[-1].task))
        (result,) = [it for it in heard[-1].task.artifacts if it.name == "result"]
        part = result.parts[0]
        assert (part.media_type, part.text) == ("application/json", f'{{"order": {LARGE}}}')


async def test_a_session_is_a_task_that_waits_for_the_next_message(
    served: Project, secret: str
) -> None:
    async with a2a_client(address(served), "talk", secret) as client:
        heard = await events(client, sent("hello", context="room-1"))
        task = await task_of(client, heard[0].task.id)
        assert (task.status.state, task.context_id) == (ASKED, "room-1")
        assert task.status.message.parts[0].text == "heard hello"
        await events(client, sent("again", task=task.id))
        await events(client, sent("by its context", context="room-1", id="m-3"))
        await events(client, sent("by its context", context="room-1", id="m-3"))
        same = await task_of(client, task.id)
        replies = [value(it.parts[0]) for it in same.artifacts]
        assert replies == ["heard hello", "heard again", "heard by its context"]
        found = await client.list_tasks(ListTasksRequest(context_id="room-1"))
        assert [it.id for it in found.tasks] == [task.id]
        cancelled = await client.cancel_task(CancelTaskRequest(id=task.id))
        assert cancelled.status.state == TaskState.TASK_STATE_CANCELED


async def test_tasks_are_listed_and_those_of_other_teams_do_not_exist(
    served: Project, secret: str
) -> None:
    url = address(served)
    async with a2a_client(url, "twice", secret, "HTTP+JSON", streams=False) as client:
        for _ in range(2):
            await events(client, sent({"order": 1}))
        first = await client.list_tasks(ListTasksRequest(page_size=1, status=ASKED))
        then = await client.list_tasks(
            ListTasksRequest(page_size=1, status=ASKED, page_token=first.next_page_token)
        )
        assert len({first.tasks[0].id, then.tasks[0].id}) == 2
        assert first.total_size >= 2
        id = first.tasks[0].id
        card = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
        schemas = MessageToDict(card.capabilities.extensions[0].params)
        assert schemas["inputs"]["properties"]["order"]["type"] == "integer"
    async with a2a_client(url, "talk", secret) as client:
        with pytest.raises(TaskNotFoundError):
            await task_of(client, id)
        with pytest.raises(TaskNotFoundError):
            await task_of(client, "none")


async def test_push_configurations_need_the_worker_s_consent(served: Project, secret: str) -> None:
    async with a2a_client(address(served), "twice", secret, streams=False) as client:
        id = (await events(client, sent({"order": 1})))[-1].task.id
        config = TaskPushNotificationConfig(task_id=id, url="https://hooks.partner.example/")
        with pytest.raises(PushNotificationNotSupportedError, match="push_hosts"):
            await client.create_task_push_notification_config(config)


NEEDS = {
    "send": {"starter", "viewer"},
    "get": {"viewer"},
    "list": {"viewer"},
    "subscribe": {"viewer"},
    "cancel": {"operator", "viewer"},
    "decide": {"approver", "viewer"},
}


@pytest.mark.parametrize("binding", BINDINGS)
async def test_each_method_needs_the_roles_of_the_gateway(
    served: Project, secret: str, binding: str
) -> None:
    url = address(served)
    async with a2a_client(url, "twice", secret, streams=False) as client:
        heard = await events(client, sent({"order": 1}))
    asked = heard[-1].task
    id = asked.id

    async def call(name: str, held: set[str]) -> None:
        one = token(served, f"{binding[:4]}-{name}-{'-'.join(sorted(held))}", *held)
        # the card is for those who may see or start the team
        async with a2a_client(url, "twice", one, binding, card=secret) as client:
            match name:
                case "send":
                    await events(client, sent({"order": 2}))
                case "get":
                    await client.get_task(GetTaskRequest(id=id))
                case "list":
                    await client.list_tasks(ListTasksRequest())
                case "subscribe":
                    assert [it async for it in client.subscribe(SubscribeToTaskRequest(id=id))]
                case "cancel":
                    await client.cancel_task(CancelTaskRequest(id=id))
                case _:
                    await events(client, sent("approve", seen=asked))

    for name in ("send", "get", "list", "subscribe", "decide", "cancel"):
        for missing in NEEDS[name]:
            with pytest.raises((A2AError, A2AClientError), match=f"{missing}"):
                await call(name, set(get_args(RoleName)) - {missing})
        await call(name, NEEDS[name])
    async with httpx.AsyncClient(base_url=url, trust_env=False) as http:
        for path in ("/a2a", "/a2a/twice/.well-known/agent-card.json", "/a2a/twice/tasks"):
            answer = await http.get(path)
            assert (answer.status_code, answer.json()["code"]) == (401, "signed_out")
            assert answer.headers["www-authenticate"] == "Bearer"
        hired = token(served, f"hire-{binding[:4]}", teams="hire")
        http.headers["Authorization"] = f"Bearer {hired}"
        assert (await http.get("/a2a")).json() == {"agents": []}
        answer = await http.get("/a2a/twice/.well-known/agent-card.json")
        assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
