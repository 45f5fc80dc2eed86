"""OpenAI's own client talks with the teams of a project through `coterie serve`."""

import asyncio
import re
import signal
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import openai
import pytest
import pytest_asyncio
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionMessageParam

from coterie.gateway.doors.openai import conversation_runs
from coterie.gateway.doors.openai.conversation import ChatText, conversation_of, digest_of
from coterie.gateway.doors.openai.conversation_runs import ConversationRuns
from coterie.gateway.doors.openai.response_objects import ResponseId, read_response_id
from coterie.gateway.identity.identity import Grant, Identity, Role
from coterie.gateway.identity.program_tokens import create_token
from coterie.gateway.operations.run_access import RunAccess
from coterie.runs.histories.history_events import read_events
from coterie.runs.histories.recorded_events import RunStarted, UpdateAccepted
from coterie.runs.run_client import Run
from coterie.server.connection import open_connection
from coterie.settings import load
from tests.e2e.gateway.conftest import said
from tests.support.project import Project, until

Messages = list[ChatCompletionMessageParam]


def then(messages: Messages, answer: str, text: str) -> Messages:
    """A conversation with an answer and the next message."""
    return [
        *messages,
        {"role": "assistant", "content": answer},
        {"role": "user", "content": text},
    ]


def origin(served: Project) -> str:
    return re.findall(r"(http://127\.0\.0\.1:\d+)", said(served))[0]


def token(served: Project, name: str, *roles: Any, teams: str = "*") -> str:
    file = served.folder / ".coterie/tokens.json"
    name = f"{name}-{uuid4().hex[:8]}"  # each test has its own
    return create_token(file, name, list(roles), [teams], time.time(), 600)


@pytest_asyncio.fixture
async def client(served: Project) -> AsyncIterator[AsyncOpenAI]:
    key = token(served, "chat", "starter", "viewer")
    async with AsyncOpenAI(base_url=f"{origin(served)}/v1", api_key=key, timeout=60) as made:
        yield made


@pytest.fixture
def plain(served: Project) -> Iterator[OpenAI]:
    key = token(served, "plain", "starter", "viewer")
    with OpenAI(base_url=f"{origin(served)}/v1", api_key=key, timeout=60) as made:
        yield made


async def messages_of(served: Project, run: str) -> list[str]:
    """The ids of the messages that a session took."""
    history = await Run(await served.client(), run).history()
    events = read_events(history.events)
    return [event.update for event in events if isinstance(event, UpdateAccepted)]


async def test_a_client_that_resends_the_conversation_stays_in_one_session(
    client: AsyncOpenAI, served: Project
) -> None:
    said: Messages = [{"role": "system", "content": "ignored"}, {"role": "user", "content": "one"}]
    raw = await client.chat.completions.with_raw_response.create(model="talk", messages=said)
    run = raw.headers["x-coterie-run"]
    first = raw.parse()
    assert first.choices[0].message.content == "heard one"
    assert first.choices[0].finish_reason == "stop"
    again = await client.chat.completions.create(model="talk", messages=said)
    assert again.choices[0].message.content == "heard one"
    assert again.id == first.id
    said = then(said, "heard one", "two")
    raw = await client.chat.completions.with_raw_response.create(model="talk", messages=said)
    assert raw.headers["x-coterie-run"] == run
    assert raw.parse().choices[0].message.content == "heard two"
    assert len(await messages_of(served, run)) == 2


def test_a_stream_has_the_text_and_the_usage_of_its_turn(plain: OpenAI) -> None:
    messages: Messages = [{"role": "user", "content": "and today?"}]
    options: Any = {"include_usage": True}
    with plain.chat.completions.stream(
        model="advice", messages=messages, stream_options=options
    ) as stream:
        completion = stream.get_final_completion()
    assert completion.choices[0].message.content == "It rains."
    assert completion.usage is not None
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (20, 5)
    messages = then(messages, "It rains.", "why")
    second = plain.chat.completions.create(model="advice", messages=messages)
    assert second.usage is not None
    assert second.usage.total_tokens == 25, "of this turn alone"


async def test_a_changed_conversation_is_another_session_and_a_name_joins_them(
    client: AsyncOpenAI, served: Project
) -> None:
    opening: Messages = [{"role": "user", "content": "changed"}]
    create = client.chat.completions.with_raw_response.create
    first = await create(model="talk", messages=opening)
    told = "heard changed"
    left = await create(model="talk", messages=then(opening, told, "left"))
    right = await create(model="talk", messages=then(opening, told, "right"))
    runs = [answer.headers["x-coterie-run"] for answer in (first, left, right)]
    assert runs[0] == runs[1] != runs[2]
    assert right.parse().choices[0].message.content == (
        "heard The conversation so far:\n\nuser: changed\n\nassistant: heard changed\n\n"
        "The newest message:\n\nright"
    )
    other = await create(model="talk", messages=opening, user="somebody else")
    assert other.headers["x-coterie-run"] != runs[0]
    messages: Messages = [{"role": "user", "content": "a"}]
    header = await create(
        model="talk", messages=messages, extra_headers={"x-coterie-session": "ticket 7"}
    )
    messages = [{"role": "user", "content": "b"}]
    metadata = await create(model="talk", messages=messages, metadata={"session": "ticket 7"})
    assert metadata.headers["x-coterie-session"] == "ticket 7"
    named = [answer.headers["x-coterie-run"] for answer in (header, metadata)]
    assert len(set(named)) == 1
    assert len(await messages_of(served, named[0])) == 2
    joined = await create(
        model="talk",
        messages=[{"role": "user", "content": "by its id"}],
        extra_headers={"x-coterie-session": runs[0]},
    )
    assert joined.headers["x-coterie-run"] == runs[0]


async def test_a_conversation_whose_session_has_ended_continues_with_all_of_it(
    client: AsyncOpenAI, served: Project
) -> None:
    create = client.chat.completions.with_raw_response.create
    opening: Messages = [{"role": "user", "content": "ends"}]
    first = await create(model="talk", messages=opening)
    run = first.headers["x-coterie-run"]
    await asyncio.to_thread(served.coterie, "cancel", run)
    following = then(opening, "heard ends", "and now?")
    second = await create(model="talk", messages=following)
    assert "user: ends" in (second.parse().choices[0].message.content or "")
    third = await create(model="talk", messages=then(following, "heard", "later"))
    assert third.parse().choices[0].message.content == "heard later"
    runs = [answer.headers["x-coterie-run"] for answer in (second, third)]
    assert run != runs[0] == runs[1]
    again = await create(model="talk", messages=opening)
    assert again.parse().choices[0].message.content == "heard ends", "it still has its answer"
    large = then([{"role": "user", "content": "x" * 100_000}], "heard", "y")
    with pytest.raises(openai.UnprocessableEntityError, match="too large for a new one"):
        await create(model="talk", messages=large)


async def test_a_named_session_and_a_response_belong_to_one_client_and_one_of_its_users(
    client: AsyncOpenAI, served: Project
) -> None:
    async def told(to: AsyncOpenAI, session: str, text: str, user: str = "") -> str:
        messages: Messages = [{"role": "user", "content": text}]
        answer = await to.chat.completions.with_raw_response.create(
            model="talk",
            messages=messages,
            extra_headers={"x-coterie-session": session},
            user=user,
        )
        return answer.headers["x-coterie-run"]

    async def starts(by: AsyncOpenAI, id: str) -> None:
        body: dict[str, Any] = {"team": "talk", "context": {}, "id": id}
        await by.post("/runs", body=body, cast_to=object)

    ann, ben = [await told(client, "default", "secret", user=name) for name in ("ann", "ben")]
    assert ann != ben
    assert await told(client, ann, "me again", user="ann") == ann, "by the id that the door gave"
    assert await told(client, ann, "not me", user="ben") not in (ann, ben)
    key = token(served, "openai-other", "starter", "viewer")
    async with AsyncOpenAI(base_url=f"{origin(served)}/v1", api_key=key, timeout=60) as other:
        name = f"support-{uuid4().hex[:8]}"
        await starts(other, name)
        own = await told(client, name, "secret")
        assert own != name, "somebody else has started that run"
        assert await told(other, name, "mine") == name
        assert await told(other, name, "a user's", user="ann") != name
        assert await told(client, name, "again") == own
        access = await runs_of(served)
        scope = ("token", await started_by(access, own), "talk", "")
        await starts(other, f"talk-chat-{digest_of('session', *scope, 'plan')}")
        with pytest.raises(openai.ConflictError):  # other has guessed the id
            await told(client, "plan", "secret")
        response = await client.responses.create(model="talk", input="x", user="ann")
        for caller, user in ((client, "ben"), (other, "ann")):
            with pytest.raises(openai.NotFoundError):
                await caller.responses.create(
                    model="talk", input="y", user=user, previous_response_id=response.id
                )
        later = await client.responses.create(
            model="talk", input="y", user="ann", previous_response_id=response.id
        )
        assert later.output_text == "heard y"


async def test_an_id_that_no_response_had_sends_nothing(
    client: AsyncOpenAI, served: Project
) -> None:
    first = await client.responses.create(model="talk", input="one")
    known = read_response_id(first.id)
    assert known is not None
    forged = str(ResponseId(known.run, "f" * 32, waits=True))
    with pytest.raises(openai.NotFoundError) as unknown:
        await client.responses.create(model="talk", input="x", previous_response_id=forged)
    assert unknown.value.code == "unknown_run"
    assert await messages_of(served, known.run) == [known.message]


async def test_a_decision_that_takes_more_than_an_hour_is_collected_from_the_same_session(
    served: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = token(served, "slow", "starter", "viewer")
    async with AsyncOpenAI(base_url=f"{origin(served)}/v1", api_key=key, timeout=60) as client:
        messages: Messages = [{"role": "user", "content": "coat"}]
        raw = await client.chat.completions.with_raw_response.create(
            model="sell", messages=messages
        )
    run, waits = raw.headers["x-coterie-run"], raw.parse().choices[0].message.content or ""
    access = await runs_of(served)
    subject = await started_by(access, run)
    roles = tuple(Grant(role=role) for role in (Role.STARTER, Role.VIEWER))
    runs = ConversationRuns(access, Identity(subject=subject, method="token", grants=roles), "sell")
    texts = [ChatText("user", "coat"), ChatText("assistant", waits), ChatText("user", "go on")]
    asked = conversation_of(texts, runs.scope)
    assert asked.collects
    monkeypatch.setattr(conversation_runs, "BUCKET_SECONDS", 1)  # so that it began long ago
    assert (await runs.session_for(asked)).run == run


async def runs_of(served: Project) -> RunAccess:
    settings = load(served.environment, served.folder)
    return RunAccess(settings, await open_connection(settings))


async def started_by(access: RunAccess, run: str) -> str:
    """The subject of the token that started a run."""
    history = await Run(access.client, run).history()
    (start,) = [event for event in read_events(history.events) if isinstance(event, RunStarted)]
    assert start.sender is not None
    return start.sender.subject


async def test_an_answer_that_waits_for_a_person_says_where_and_any_message_collects_it(
    client: AsyncOpenAI, served: Project
) -> None:
    messages: Messages = [{"role": "user", "content": "shoes"}]
    raw = await client.chat.completions.with_raw_response.create(model="sell", messages=messages)
    run, text = raw.headers["x-coterie-run"], raw.parse().choices[0].message.content or ""
    assert "Sell shoes?" in text
    assert f"/runs/{run}#waits-" in text
    messages = then(messages, text, "well?")
    still = await client.chat.completions.create(model="sell", messages=messages)
    assert still.choices[0].message.content == text
    await asyncio.to_thread(served.coterie, "approve", run)
    messages = then(messages, text, "go on")
    answer = await client.chat.completions.create(model="sell", messages=messages)
    assert answer.choices[0].message.content == "sold shoes"
    messages = then(messages, "sold shoes", "hat")
    raw = await client.chat.completions.with_raw_response.create(model="sell", messages=messages)
    assert raw.headers["x-coterie-run"] == run
    assert "Sell hat?" in (raw.parse().choices[0].message.content or "")
    sent = [id for id in await messages_of(served, run) if len(id) == 32]
    assert len(sent) == 2, "what only collects an answer is not sent"


async def test_responses_continue_by_the_id_of_the_previous_one(client: AsyncOpenAI) -> None:
    first = await client.responses.create(model="talk", input="one", instructions="ignored")
    assert first.output_text == "heard one"
    async with client.responses.stream(
        model="talk", input="two", previous_response_id=first.id
    ) as stream:
        kinds = [event.type async for event in stream]
        second = await stream.get_final_response()
    assert second.output_text == "heard two"
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    again = await client.responses.create(model="talk", input="two", previous_response_id=first.id)
    assert (again.output_text, again.id) == (second.output_text, second.id)
    with pytest.raises(openai.ConflictError) as moved:
        await client.responses.create(model="talk", input="x", previous_response_id=first.id)
    assert moved.value.code == "moved_on"
    with pytest.raises(openai.NotFoundError):
        await client.responses.create(model="talk", input="x", previous_response_id="resp_x")
    waits = await client.responses.create(model="sell", input="boots")
    assert "Sell boots?" in waits.output_text
    again = await client.responses.create(
        model="sell", input="go on", previous_response_id=waits.id
    )
    assert again.output_text == waits.output_text


async def test_a_team_that_is_no_session_has_one_run_for_each_request(client: AsyncOpenAI) -> None:
    create = client.chat.completions.with_raw_response.create
    messages: Messages = [{"role": "user", "content": "tides"}]
    answers = [
        await create(model="note", messages=messages, metadata={"copies": copies})
        for copies in ("3", "3", "4")
    ]
    texts = [answer.parse().choices[0].message.content for answer in answers]
    assert texts == ["3 x tides", "3 x tides", "4 x tides"]
    runs = [answer.headers["x-coterie-run"] for answer in answers]
    assert runs[0] == runs[1] != runs[2]
    with pytest.raises(openai.UnprocessableEntityError) as wrong:
        await create(model="note", messages=messages, metadata={"copies": "many"})
    assert "metadata" in wrong.value.message
    with pytest.raises(openai.InternalServerError) as failed:
        await create(model="failing", messages=messages)
    assert failed.value.code == "run_failed"
    with pytest.raises(openai.APIError, match="has no answer"):
        async with client.responses.stream(model="failing", input="tides") as stream:
            await stream.get_final_response()
    first = await client.responses.create(model="note", input="tides")
    with pytest.raises(openai.BadRequestError) as refused:
        await client.responses.create(model="note", input="x", previous_response_id=first.id)
    assert refused.value.param == "previous_response_id"


async def test_who_lacks_a_role_or_asks_too_much_is_refused_in_the_form_of_the_api(
    client: AsyncOpenAI, served: Project
) -> None:
    hello: Messages = [{"role": "user", "content": "hello"}]
    names = [model.id async for model in client.models.list()]
    assert {"talk", "note", "article"} <= set(names)
    assert (await client.models.retrieve("talk")).owned_by == "coterie"
    with pytest.raises(openai.NotFoundError) as unknown:
        await client.models.retrieve("talks")
    assert unknown.value.code == "unknown_team"
    refused: dict[str, Any] = {
        "n": 2, "tools": [{"type": "function", "function": {"name": "f"}}], "logprobs": True,
        "response_format": {"type": "json_object"}, "stop": ["x"],
    }  # fmt: skip
    for name, value in refused.items():
        with pytest.raises(openai.BadRequestError) as error:
            await client.chat.completions.create(model="talk", messages=hello, **{name: value})
        assert error.value.param == name
        assert name in error.value.message
    url = origin(served)
    roles: dict[str, tuple[Any, ...]] = {
        "starts": ("starter",), "views": ("viewer",), "steers": ("operator", "approver", "admin"),
    }  # fmt: skip
    for name, has in roles.items():
        key = token(served, name, *has)
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key=key) as other:
            assert [model.id async for model in other.models.list()] == []
            with pytest.raises(openai.PermissionDeniedError) as denied:
                await other.chat.completions.create(model="talk", messages=hello)
            assert denied.value.code == "not_allowed"
    key = token(served, "note-only", "starter", "viewer", teams="note")
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key=key) as other:
        assert [model.id async for model in other.models.list()] == ["note"]
        with pytest.raises(openai.PermissionDeniedError):
            await other.responses.create(model="talk", input="hello")
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key="wrong") as nobody:
        with pytest.raises(openai.AuthenticationError) as signed_out:
            await nobody.chat.completions.create(model="talk", messages=hello)
        assert signed_out.value.code == "token_invalid"


async def taken(served: Project) -> Run:
    """The run of the team `hold`, once it has its message."""
    client = await served.client()
    async with asyncio.timeout(60):
        while True:
            async for found in client.list_workflows("WorkflowId STARTS_WITH 'hold-chat-'"):
                if await messages_of(served, found.id):
                    return Run(client, found.id)
            await asyncio.sleep(0.1)  # until the worker has compiled it


async def test_a_killed_gateway_costs_no_answer_and_no_message_twice(served: Project) -> None:
    key = token(served, "killed", "starter", "viewer")
    before = len(re.findall("open +http", said(served)))

    async def begun(port: str, number: int) -> Any:
        process = served.begin("serve", "--port", port, "--no-browser", "--no-worker")
        await asyncio.to_thread(
            until, lambda: len(re.findall("open +http", said(served))) >= number, "the gateway"
        )
        return process

    first = await begun("0", before + 1)
    url = re.findall(r"serving +(http://\S+);", said(served))[-1]
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=20) as client:
        hello: Messages = [{"role": "user", "content": "on"}]
        asking = asyncio.create_task(client.chat.completions.create(model="hold", messages=hello))
        run = await taken(served)
        first.send_signal(signal.SIGKILL)
        first.wait(30)
        second = await begun(url.rpartition(":")[2], before + 2)
        await run.handle.signal("go")
        async with asyncio.timeout(60):
            answer = await asking
        assert answer.choices[0].message.content == "held on"
        assert len(await messages_of(served, run.id)) == 1
        second.send_signal(signal.SIGINT)
        second.wait(30)
