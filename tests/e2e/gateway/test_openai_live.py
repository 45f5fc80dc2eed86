"""OpenAI's own client gets the text of a reply while the model writes it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import openai
import pytest
import pytest_asyncio
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam

from tests.e2e.gateway.test_openai_door import messages_of, origin, then, token
from tests.support.project import Project
from tests.support.servers.streamed_model import StreamedModel, streamed_model

ESSAY = """
llm_config:
  default_provider: desk
  default_model: m
  providers: {{desk: {{kind: openai, api_base: "{url}"}}}}
  personas:
    writer: {{stream: true, retries: 3, prompts: {{user: "{{{{ input }}}}"}}}}
orchestration:
  entry_team: desk
  {more}
  teams:
    desk:
      tasks:
        {tasks}
      routing: {{default: {next}}}
"""
TOLD = """- {name: heard, type: wait, message: true, deadline: 1h}
        - {name: draft, persona_key: writer, input: "{{ tasks.heard.data }}"}
        - {name: told, type: reply, value: "{{ tasks.draft.data.text }}"}"""
ALONE = """- {name: draft, persona_key: writer, input: "{{ context.message }}"}"""


@pytest.fixture(scope="module")
def model(served: Project) -> Iterator[StreamedModel]:
    """A model whose answers the test writes, behind the teams `essay` and `letter`."""
    with streamed_model() as made:
        teams = served.folder / "config/teams"
        essay = ESSAY.format(url=made.url, more="", tasks=TOLD, next="desk")
        (teams / "essay.yml").write_text(essay)
        more = "context: {message: {type: string}}"
        (teams / "letter.yml").write_text(
            ESSAY.format(url=made.url, more=more, tasks=ALONE, next="null")
        )
        yield made


@pytest_asyncio.fixture
async def client(served: Project) -> AsyncIterator[AsyncOpenAI]:
    key = token(served, "chat", "starter", "viewer")
    async with AsyncOpenAI(base_url=f"{origin(served)}/v1", api_key=key, timeout=60) as made:
        yield made


def content_of(chunk: ChatCompletionChunk) -> str:
    return (chunk.choices[0].delta.content or "") if chunk.choices else ""


def asks(text: str = "Write.") -> list[ChatCompletionMessageParam]:
    return [{"role": "user", "content": f"{text} {uuid4().hex}"}]


@pytest.mark.parametrize("team", ["essay", "letter"], ids=["a session", "a run"])
async def test_a_chat_completion_has_the_text_before_the_model_has_ended(
    client: AsyncOpenAI, model: StreamedModel, team: str
) -> None:
    model.say("It ")
    stream = await client.chat.completions.create(model=team, messages=asks(), stream=True)
    text = ""
    async for chunk in stream:
        text += content_of(chunk)
        if text == "It ":
            model.say("rains, ")
        if text == "It rains, ":
            model.end("Ümlaut 雨.")
    assert text == "It rains, Ümlaut 雨."


async def test_a_response_has_the_text_before_the_model_has_ended(
    client: AsyncOpenAI, model: StreamedModel
) -> None:
    model.say("It ")
    seen = ""
    async with client.responses.stream(model="essay", input=f"Write. {uuid4().hex}") as stream:
        async for event in stream:
            if event.type == "response.output_text.delta":
                seen += event.delta
                if seen == "It ":
                    model.end("rains.")
        response = await stream.get_final_response()
    assert seen == response.output_text == "It rains."


async def test_an_attempt_that_writes_another_text_is_told(
    client: AsyncOpenAI, model: StreamedModel
) -> None:
    messages = asks()
    model.say("It ")
    stream = await client.chat.completions.create(model="essay", messages=messages, stream=True)
    text: list[str] = []

    async def read() -> None:
        async for chunk in stream:
            text.append(content_of(chunk))
            if "".join(text) == "It ":
                model.break_off()  # the next attempt gets another answer
                model.end("The sun shines.")

    with pytest.raises(openai.APIError, match="has another answer"):
        await read()
    assert "".join(text) == "It "
    again = await client.chat.completions.create(model="essay", messages=messages)
    assert again.choices[0].message.content == "The sun shines."

    model.say("It ")
    seen: list[tuple[int, str]] = []
    async with client.responses.stream(model="essay", input=f"Write. {uuid4().hex}") as answers:
        async for event in answers:
            if event.type == "response.output_text.delta":
                seen.append((event.output_index, event.delta))
                if len(seen) == 1:
                    model.break_off()
                    model.end("The sun shines.")
        response = await answers.get_final_response()
    assert seen == [(0, "It "), (1, "The sun shines.")]
    assert response.output_text == "The sun shines."


async def test_clients_of_one_session_get_each_the_text_of_their_own_reply(
    client: AsyncOpenAI, model: StreamedModel
) -> None:
    session = {"x-coterie-session": uuid4().hex}
    first = await client.chat.completions.create(
        model="essay", messages=asks("One."), stream=True, extra_headers=session
    )
    model.say("First")
    text = ""
    second: Any = None
    async for chunk in first:
        text += content_of(chunk)
        if text and second is None:
            second = await client.chat.completions.create(
                model="essay", messages=asks("Two."), stream=True, extra_headers=session
            )
            model.end(" one.")
            model.say("Second")
    assert text == "First one."
    text = ""
    async for chunk in second:
        text += content_of(chunk)
        if text == "Second":
            model.end(" one.")
    assert text == "Second one."


async def test_two_messages_that_continue_a_conversation_at_once_are_two_branches(
    client: AsyncOpenAI, served: Project
) -> None:
    create = client.chat.completions.with_raw_response.create
    opening = asks("Begin.")
    first = await create(model="talk", messages=opening)
    heard = first.parse().choices[0].message.content or ""
    lines = [then(opening, heard, text) for text in ("left", "right", "left", "up")]
    answers = await asyncio.gather(*(create(model="talk", messages=line) for line in lines))
    runs = [answer.headers["x-coterie-run"] for answer in answers]
    assert runs[0] == runs[2], "the same message"
    assert len(set(runs)) == 3
    assert runs.count(first.headers["x-coterie-run"]) in (1, 2)
    for text, answer in zip(("left", "right", "left", "up"), answers, strict=True):
        content = answer.parse().choices[0].message.content or ""
        assert content.endswith(text)
        assert not any(other in content for other in {"left", "right", "up"} - {text})
    for run in set(runs):
        count = 2 if run == first.headers["x-coterie-run"] else 1
        assert len(await messages_of(served, run)) == count
