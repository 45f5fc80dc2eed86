"""Servers that speak Chat Completions in their own ways: each call arrives once and whole."""

import json
from typing import Any

import pytest

from coterie.activities.contracts import FailureType, TokenUsage
from coterie.activities.providers.message_model import (
    ModelMessage,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from coterie.dsl.tool_loop.exchange import OfferedTool
from tests.support.servers.asking import ask, failure, request
from tests.support.servers.raw_server import http, raw_server

TOOLS = (
    OfferedTool(name="a", description="", input_schema={"type": "object"}),
    OfferedTool(name="b", description="", input_schema={"type": "object"}),
)
SSE = "text/event-stream"


def call(name: str | None, arguments: Any, **more: Any) -> dict[str, Any]:
    named = {} if name is None else {"name": name}
    return {"function": {**named, "arguments": arguments}, **more}


def stream(*deltas: dict[str, Any], finish: str | None = "tool_calls") -> str:
    bodies = [{"choices": [{"delta": {"tool_calls": [delta]}}]} for delta in deltas]
    ended: dict[str, Any] = {"choices": [{"delta": {}, "finish_reason": finish}]}
    return "".join(f"data: {json.dumps(body)}\n\n" for body in [*bodies, ended])


OPENAI = stream(
    call("a", "", index=0, id="x"),
    call(None, '{"n"', index=0),
    call(None, ": 1}", index=0),
    call("b", "", index=1, id="y"),
)
INTERLEAVED = stream(
    call("a", '{"n"', index=0, id="x"),
    call("b", "{}", index=1, id="y"),
    call(None, ": 1}", index=0),
)
GEMINI = stream(call("a", '{"n": 1}', id="x"), call("b", "{}", id="y"), finish="stop")
OLLAMA = stream(call("a", '{"n": 1}', index=0, id="x"), call("b", "{}", index=0, id="y"))
SGLANG = stream(
    call("a", '{"n"', index=0, id="x"),
    call(None, ": 1}", index=0, id="x"),
    call("b", "{}", index=1, id="y"),
)
OBJECTS = stream(call("a", {"n": 1}, index=0, id="x"), call("b", {}, index=1, id="y"))
GAP = stream(call("a", '{"n": 1}', index=0, id="x"), call("b", "{}", index=7, id="y"))


@pytest.mark.parametrize(
    "body",
    [OPENAI, INTERLEAVED, GEMINI, OLLAMA, SGLANG, OBJECTS, GAP],
    ids=["openai", "interleaved", "gemini", "ollama", "sglang", "objects", "gap"],
)
async def test_streamed_calls_are_put_together(body: str) -> None:
    async with raw_server(http(body, kind=SSE)) as server:
        answer = await ask("openai", server.url, request(tools=TOOLS, on_text=print))
    assert answer.content == (ToolCallPart("x", "a", '{"n": 1}'), ToolCallPart("y", "b", "{}"))
    assert answer.stop_reason == "tool_calls"


@pytest.mark.parametrize(
    "body",
    [
        stream(call("a", "{}", index=0), call("b", "{}", index=1)),
        stream(call("a", "{}", id=""), call("b", "{}", id="")),
        stream(call("a", "{}", index=0, id="same"), call("b", "{}", index=1, id="same")),
    ],
    ids=["none", "empty", "repeated"],
)
async def test_calls_without_ids_of_their_own_get_some(body: str) -> None:
    async with raw_server(http(body, kind=SSE)) as server:
        asked = request(tools=TOOLS, on_text=print)
        answer = await ask("openai", server.url, asked)
        again = await ask("openai", server.url, asked)
    assert [one.name for one in answer.tool_calls] == ["a", "b"]
    assert len({one.id for one in answer.tool_calls}) == 2
    assert answer.tool_calls == again.tool_calls


async def test_a_server_that_numbers_calls_anew_in_each_turn_gets_other_ids() -> None:
    turns = (
        ModelMessage.of("user", "Go."),
        ModelMessage("assistant", (ToolCallPart("0", "a", "{}"),)),
        ModelMessage("user", (ToolResultPart("0", "1"),)),
    )
    message = {"tool_calls": [call("a", "{}", id="0")]}
    body = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    async with raw_server(http(json.dumps(body))) as server:
        answer = await ask("openai", server.url, request(tools=TOOLS, messages=turns))
    assert [one.id for one in answer.tool_calls] == ["call_3_0"]


@pytest.mark.parametrize(
    ("message", "finish", "understood"),
    [
        ({"content": "Well."}, "tool_calls", "end"),
        ({"tool_calls": [call("a", "{}", id="x")]}, "stop", "tool_calls"),
        ({"tool_calls": [call("a", '{"n', id="x")]}, "length", "max_tokens"),
        ({"tool_calls": [call("a", '{"n', id="x")]}, "content_filter", "refusal"),
    ],
)
async def test_the_presence_of_calls_decides_unless_the_answer_was_cut(
    message: dict[str, Any], finish: str, understood: str
) -> None:
    body = {"choices": [{"message": message, "finish_reason": finish}]}
    async with raw_server(http(json.dumps(body))) as server:
        answer = await ask("openai", server.url, request(tools=TOOLS))
    assert answer.stop_reason == understood


async def test_signatures_and_thoughts_return_to_the_server_that_sent_them() -> None:
    google = {"google": {"thought_signature": "S"}}
    message = {
        "content": "I look.",
        "reasoning_content": "Hm.",
        "tool_calls": [call("a", "{}", id="x", type="function", extra_content=google)],
    }
    body = {"choices": [{"message": message, "finish_reason": "stop"}]}
    async with raw_server(http(json.dumps(body))) as server:
        first = await ask("openai", server.url, request(tools=TOOLS))
        assert first.content[0] == ThinkingPart("openai", "m-1", {"reasoning_content": "Hm."})
        assert first.content[1] == TextPart("I look.")
        turns = (
            ModelMessage.of("user", "Go."),
            ModelMessage("assistant", first.content),
            ModelMessage("user", (ToolResultPart("x", "1"),)),
        )
        await ask("openai", server.url, request(tools=TOOLS, messages=turns))
        await ask("openai", server.url, request(messages=turns))
    with_tools, without = (received.body["messages"] for received in server.requests[1:])
    assert isinstance(with_tools, list)
    assert isinstance(without, list)
    assert with_tools[1] == {"role": "assistant", **message}
    # Servers that think refuse it back where no tool is offered
    assert without[1] == {
        "role": "assistant",
        **{key: value for key, value in message.items() if key != "reasoning_content"},
    }


async def test_a_server_that_is_not_openais_gets_no_option_of_openais_alone() -> None:
    said = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
    async with raw_server(http(json.dumps(said))) as server:
        await ask("openai", server.url, request(max_tokens=7))
    sent = server.requests[0].body
    assert sent["max_tokens"] == 7
    assert not {"max_completion_tokens", "prompt_cache_key"} & set(sent)


THOUGHTS: Any = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
PARTS: list[Any] = [THOUGHTS, {"type": "text", "text": "Rain."}]
PIECES: list[Any] = [
    [{"type": "thinking", "thinking": [{"type": "text", "text": "H"}]}],
    [{"type": "thinking", "thinking": [{"type": "text", "text": "m."}]}],
    "Ra",
    "in.",
]


@pytest.mark.parametrize("watched", [False, True])
async def test_a_content_of_parts_is_read_and_returned(*, watched: bool) -> None:
    """Mistral's models that reason answer so, and take their thinking back with tools."""
    whole = {"choices": [{"finish_reason": "stop", "message": {"content": PARTS}}]}
    bodies: list[Any] = [{"choices": [{"delta": {"content": piece}}]} for piece in PIECES]
    bodies.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    lines = "".join(f"data: {json.dumps(body)}\n\n" for body in bodies)
    shown: list[str] = []
    more: dict[str, Any] = {"on_text": shown.append} if watched else {}
    answer = http(lines, kind=SSE) if watched else http(json.dumps(whole))
    async with raw_server(answer) as server:
        first = await ask("openai", server.url, request(**more))
        assert (first.text, first.stop_reason) == ("Rain.", "end")
        assert "".join(shown) == ("Rain." if watched else "")
        said = ModelMessage("assistant", first.content)
        turns = (ModelMessage.of("user", "Go."), said, ModelMessage.of("user", "And now?"))
        await ask("openai", server.url, request(messages=turns, tools=TOOLS, **more))
        await ask("openai", server.url, request(messages=turns, **more))
    with_tools, without = (one.body["messages"] for one in server.requests[1:])
    assert with_tools[1]["content"] == PARTS  # type: ignore[index]
    assert without[1]["content"] == "Rain."  # type: ignore[index]


async def test_an_answer_that_cannot_be_read_counts_what_it_cost() -> None:
    body = {"choices": "many", "usage": {"prompt_tokens": 9, "completion_tokens": 4}}
    async with raw_server(http(json.dumps(body))) as server:
        failed = await failure("openai", server.url)
    assert (failed.kind, failed.usage) == (FailureType.ANSWER_UNREADABLE, TokenUsage(9, 4))
