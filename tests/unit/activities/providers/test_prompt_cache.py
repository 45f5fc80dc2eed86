"""The vendor keeps the beginning of a conversation; each request repeats it byte for byte."""

import json
from dataclasses import replace
from typing import Any

import pytest

from coterie.activities.contracts import TokenUsage
from coterie.activities.providers.message_model import (
    ModelMessage,
    ToolCallPart,
    ToolResultPart,
)
from coterie.activities.providers.provider import ModelRequest, ProviderSettings
from coterie.activities.providers.translation.anthropic_turns import anthropic_body
from coterie.activities.providers.translation.chat_turns import chat_messages
from coterie.activities.providers.translation.responses_turns import responses_body
from coterie.dsl.model.price import Price
from coterie.dsl.tool_loop.exchange import OfferedTool
from coterie.dsl.values import Json, JsonValue
from tests.support.servers.asking import APIS

CLAUDE = ProviderSettings("p", "anthropic")
GPT = ProviderSettings("p", "openai")

TOOL = OfferedTool(name="look", description="Look.", input_schema={"type": "object"})
FIVE: Json = {"type": "ephemeral"}


def asked(turns: int = 0, calls: int = 1, **fields: Any) -> ModelRequest:
    """A request after so many turns, each with so many calls."""
    messages = [ModelMessage.of("user", "Go.")]
    for turn in range(turns):
        ids = [f"c{turn}_{number}" for number in range(calls)]
        parts = tuple(ToolCallPart(one, "look", f'{{ "n":{turn} }}') for one in ids)
        results = tuple(ToolResultPart(one, "x" * turn or "x") for one in ids)
        messages += [ModelMessage("assistant", parts), ModelMessage("user", results)]
    given: dict[str, Any] = {"tools": (TOOL,), "system": "S.", **fields}
    return ModelRequest(model="m", messages=tuple(messages), **given)


@pytest.mark.parametrize("tools", [(TOOL,), ()])
@pytest.mark.parametrize("calls", [1, 12])
@pytest.mark.parametrize("prompt_cache", ["auto", "off", "5m"])
@pytest.mark.parametrize("api", APIS)
def test_each_request_repeats_the_one_before_byte_for_byte(
    api: str, prompt_cache: Any, calls: int, tools: tuple[OfferedTool, ...]
) -> None:
    """Only the marks of the cache may move."""
    before: Json = {"turns": []}
    for turns in range(30):
        now = sent(api, asked(turns, calls, prompt_cache=prompt_cache, tools=tools))
        new, old = turns_of(now), turns_of(before)
        assert json.dumps(new).startswith(json.dumps(old).removesuffix("]"))
        assert len(new) > len(old)
        assert turns == 0 or {**now, "turns": 0} == {**before, "turns": 0}
        before = now


def sent(api: str, request: ModelRequest) -> Json:
    """What a request has before its messages, and the messages."""
    match api:
        case "anthropic":
            body = unmarked(anthropic_body(request, CLAUDE))
            assert isinstance(body, dict)
            return {"turns": body.pop("messages"), **body}
        case "openai":
            return {"turns": [*chat_messages(request, "S.", "p")]}
        case "responses":
            body = responses_body(request, GPT)
            return {"turns": body.pop("input"), **body}
        case _:
            raise KeyError(api)


def turns_of(body: Json) -> list[JsonValue]:
    turns = body["turns"]
    assert isinstance(turns, list)
    return turns


def unmarked(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return {key: unmarked(one) for key, one in value.items() if key != "cache_control"}
        case list():
            return [unmarked(one) for one in value]
        case _:
            return value


def marks(request: ModelRequest) -> int:
    return json.dumps(anthropic_body(request, CLAUDE)).count("cache_control")


@pytest.mark.parametrize(
    ("request_", "mark"),
    [
        (asked(), FIVE),
        (asked(tools=()), None),
        (asked(2, tools=()), FIVE),
        (asked(prompt_cache="off"), None),
        (asked(tools=(), prompt_cache="5m"), FIVE),
        (asked(tools=(), prompt_cache="1h"), {"type": "ephemeral", "ttl": "1h"}),
    ],
)
def test_a_cache_is_marked_where_another_request_is_likely(
    request_: ModelRequest, mark: Json | None
) -> None:
    body = anthropic_body(request_, CLAUDE)
    assert body.get("cache_control") == mark
    if mark is None:
        assert "cache_control" not in json.dumps(body)
        off = request_.prompt_cache == "off"
        assert body["system"] == ("S." if off else [{"type": "text", "text": "S."}])
    else:
        assert body["system"] == [{"type": "text", "text": "S.", "cache_control": mark}]


def test_tools_are_marked_where_there_is_no_system_prompt() -> None:
    body = anthropic_body(asked(system=None), CLAUDE)
    assert body["tools"] == [
        {
            "name": "look",
            "description": "Look.",
            "input_schema": {"type": "object"},
            "cache_control": FIVE,
        }
    ]


def test_a_turn_with_very_many_calls_keeps_its_cache() -> None:
    """The vendor looks only 20 blocks back from a mark."""
    few, many = asked(3, calls=4), asked(3, calls=12)
    assert (marks(few), marks(many)) == (2, 3)
    messages = anthropic_body(many, CLAUDE)["messages"]
    assert isinstance(messages, list)
    marked = [number for number, one in enumerate(messages) if "cache_control" in json.dumps(one)]
    assert marked == [4], "where the request before this one ended"


@pytest.mark.parametrize("prompt_cache", ["auto", "off"])
def test_openai_gets_one_key_for_a_conversation(prompt_cache: Any) -> None:
    bodies = [responses_body(asked(turns, prompt_cache=prompt_cache), GPT) for turns in (0, 3)]
    first, later = (body.get("prompt_cache_key") for body in bodies)
    assert first == later
    assert (first is None) is (prompt_cache == "off")
    other = responses_body(replace(asked(), system="T."), GPT)
    assert other["prompt_cache_key"] != first


def test_tokens_that_fill_a_cache_have_a_price_of_their_own() -> None:
    usage = TokenUsage(1_000_000, 0, cached_tokens=500_000, cache_write_tokens=100_000)
    counts = (usage.input_tokens, 0, usage.cached_tokens, usage.cache_write_tokens)
    price = Price(input=10, output=0, cached=1, cache_write=12.5)
    assert price.of(*counts) == pytest.approx(4 + 0.5 + 1.25)
    assert Price(input=10, output=0).of(*counts) == pytest.approx(10)
    assert usage + usage == TokenUsage(2_000_000, 0, 1_000_000, 200_000)
