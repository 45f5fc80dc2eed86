"""Turns with tools, by the real SDKs, behind a proxy that refuses what the vendors refuse."""

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest

from coterie.activities.contracts import FailureType
from coterie.activities.providers.message_model import (
    ImagePart,
    ModelMessage,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.dsl.model.tools.tool_use import NamedTool, ToolChoice
from coterie.dsl.tool_loop.exchange import OfferedTool
from coterie.dsl.values import Json, JsonValue
from tests.support.servers.asking import APIS, ask, request
from tests.support.servers.checking_proxy import CheckingProxy, checking_proxy
from tests.support.servers.model_server import ModelServer
from tests.support.servers.raw_server import events, http, raw_server

CITY: Json = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = OfferedTool(
    name="get_weather", description="Tell the weather of a city.", input_schema=CITY
)
CLOCK = OfferedTool(
    name="get_time", description="Tell the time.", input_schema={"type": "object", "properties": {}}
)
CALLS: list[JsonValue] = [
    {"id": "call_1", "name": "get_weather", "arguments": {"city": "Kraków"}},
    {"id": "call_2", "name": "get_time", "arguments": {}},
]
FIRST: Json = {
    "match": {"userMessage": "weather", "hasToolResult": False},
    "response": {
        "content": "I look.",
        "toolCalls": CALLS,
        "reasoning": "The city is named.",
        "reasoningSignature": "S1",
    },
}
LAST: Json = {"match": {"toolCallId": "call_2"}, "response": {"content": "21 degrees at noon."}}
NEWS: Json = {"match": {"userMessage": "One turn"}, "response": {"content": "21 degrees at noon."}}
CUT = {
    "anthropic": events(
        {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 1}}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "call_1", "name": "get_time", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"zone": "Eur'},
        },
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}},
    ),
    "openai": "data: "
    + json.dumps(
        {
            "choices": [
                {
                    "delta": {
                        "tool_calls": [
                            {
                                "index": 0,
                                "id": "call_1",
                                "function": {"name": "get_time", "arguments": '{"zone": "Eur'},
                            }
                        ]
                    },
                    "finish_reason": "length",
                }
            ]
        }
    )
    + "\n\n",
}


@pytest.fixture
async def proxy(model_server: ModelServer) -> AsyncGenerator[CheckingProxy]:
    async with checking_proxy(model_server.url) as running:
        yield running


def url(api: str, proxy: CheckingProxy) -> str:
    return proxy.url + APIS[api].base


def asked(*, watched: bool = False, **fields: Any) -> ModelRequest:
    shown: list[str] = []
    more = {"on_text": shown.append} if watched else {}
    return request(
        "How is the weather?",
        system="You are a clerk.",
        tools=(WEATHER, CLOCK),
        **more,
        **fields,
    )


def continued(
    before: ModelRequest, answer: Completion, *, news: str | None = None, error: bool = False
) -> ModelRequest:
    """The next turn: the answer as it came, and a result for each of its calls."""
    results = tuple(ToolResultPart(call.id, "21", is_error=error) for call in answer.tool_calls)
    said = () if news is None else (TextPart(news),)
    turn = ModelMessage("assistant", answer.content)
    after = ModelMessage("user", (*results, *said))
    return replace(before, messages=(*before.messages, turn, after))


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("api", APIS)
async def test_calls_come_back_raw_and_results_lead_to_the_answer(
    api: str, proxy: CheckingProxy, model_server: ModelServer, *, watched: bool
) -> None:
    model_server.add(NEWS, FIRST, LAST)
    begun = asked(watched=watched)
    first = await ask(api, url(api, proxy), begun)
    assert (first.stop_reason, first.text) == ("tool_calls", "I look.")
    assert [(call.id, call.name) for call in first.tool_calls] == [
        ("call_1", "get_weather"),
        ("call_2", "get_time"),
    ]
    assert [json.loads(call.arguments) for call in first.tool_calls] == [{"city": "Kraków"}, {}]
    second = await ask(api, url(api, proxy), continued(begun, first, news="One turn is left."))
    assert (second.stop_reason, second.text) == ("end", "21 degrees at noon.")
    assert proxy.faults == []
    assert proxy.repeated[-1] == len(proxy.bodies[0][APIS[api].turns])


@pytest.mark.parametrize("api", APIS)
async def test_thinking_returns_as_it_came_and_reaches_no_other_vendor(
    api: str, proxy: CheckingProxy, model_server: ModelServer
) -> None:
    model_server.add(FIRST, LAST)
    first = await ask(api, url(api, proxy), asked())
    thoughts = [part for part in first.content if isinstance(part, ThinkingPart)]
    assert [(part.provider, part.model) for part in thoughts] == [(api, "m-1")]
    await ask(api, url(api, proxy), continued(asked(), first))
    sent = json.dumps(proxy.bodies[-1])
    assert isinstance(thoughts[0].opaque, dict)
    for value in thoughts[0].opaque.values():
        assert json.dumps(value) in sent
    for other in set(APIS) - {api}:
        await ask(other, url(other, proxy), continued(asked(), first))
        assert "The city is named." not in json.dumps(proxy.bodies[-1])


@pytest.mark.parametrize("api", APIS)
async def test_a_conversation_of_one_vendor_continues_at_any_other(
    api: str, proxy: CheckingProxy, model_server: ModelServer
) -> None:
    """With an id and a name that only its own server takes."""
    model_server.answer("Well.")
    call = ToolCallPart("functions.get weather:0" + "x" * 60, "functions.get weather", '{"a": ')
    foreign = Completion((TextPart(" "), call), "tool_calls", "kimi")
    answer = await ask(api, url(api, proxy), continued(asked(), foreign, error=True))
    assert answer.text == "Well."
    assert proxy.faults == []


@pytest.mark.parametrize("api", APIS)
async def test_an_answer_with_a_schema_can_follow_calls(
    api: str, proxy: CheckingProxy, model_server: ModelServer
) -> None:
    model_server.add(FIRST)
    model_server.add({"match": {"toolCallId": "call_2"}, "response": {"content": {"degrees": 21}}})
    schema: Json = {
        "type": "object",
        "properties": {"degrees": {"type": "integer"}},
        "required": ["degrees"],
    }
    begun = asked(output_schema=schema)
    first = await ask(api, url(api, proxy), begun)
    second = await ask(api, url(api, proxy), continued(begun, first))
    assert json.loads(second.text) == {"degrees": 21}
    assert proxy.faults == []


@pytest.mark.parametrize("api", CUT)
async def test_a_call_that_was_cut_off_is_never_one_to_run(api: str) -> None:
    async with raw_server(http(CUT[api], kind="text/event-stream")) as server:
        answer = await ask(api, server.url, asked(watched=True))
    assert answer.stop_reason == "max_tokens"
    assert [call.arguments for call in answer.tool_calls] == ['{"zone": "Eur']


FORMS: dict[str, dict[str, JsonValue]] = {
    "anthropic": {
        "required": {"type": "any"},
        "none": {"type": "none"},
        "named": {"type": "tool", "name": "get_time"},
        "alone": {"type": "auto", "disable_parallel_tool_use": True},
    },
    "openai": {
        "required": "required",
        "none": "none",
        "named": {"type": "function", "function": {"name": "get_time"}},
        "alone": False,
    },
    "responses": {
        "required": "required",
        "none": "none",
        "named": {"type": "function", "name": "get_time"},
        "alone": False,
    },
}

ALONE = {
    "anthropic": "tool_choice",
    "openai": "parallel_tool_calls",
    "responses": "parallel_tool_calls",
}
"""The key that has the form `alone`."""


@pytest.mark.parametrize("api", APIS)
async def test_the_choice_of_a_tool_is_sent_in_the_form_of_the_api(
    api: str, proxy: CheckingProxy, model_server: ModelServer
) -> None:
    model_server.answer("Well.")
    sent: list[JsonValue] = []
    choices: list[ToolChoice] = ["required", "none", NamedTool(tool="get_time")]
    for choice in choices:
        await ask(api, url(api, proxy), asked(tool_choice=choice))
        sent.append(proxy.bodies[-1]["tool_choice"])
    forms = FORMS[api]
    assert sent == [forms["required"], forms["none"], forms["named"]]
    await ask(api, url(api, proxy), asked(parallel_tool_calls=False))
    assert proxy.bodies[-1].items() >= {ALONE[api]: forms["alone"]}.items()
    await ask(api, url(api, proxy), asked())
    assert not {"tool_choice", "parallel_tool_calls"} & proxy.bodies[-1].keys()


@pytest.mark.parametrize("api", APIS)
async def test_an_image_reaches_the_model(
    api: str, proxy: CheckingProxy, model_server: ModelServer
) -> None:
    model_server.answer("A cat.")
    look = ModelMessage("user", (TextPart("What is it?"), ImagePart("image/png", b"\x89PNG")))
    await ask(api, url(api, proxy), request(messages=(look,)))
    (message,) = proxy.bodies[0][APIS[api].turns]
    data = "data:image/png;base64,iVBORw=="
    assert (
        message["content"][1]
        == {
            "anthropic": {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="},
            },
            "openai": {"type": "image_url", "image_url": {"url": data}},
            "responses": {"type": "input_image", "image_url": data},
        }[api]
    )


@pytest.mark.parametrize("api", APIS)
async def test_effort_is_sent_only_where_it_is_set(
    api: str, proxy: CheckingProxy, model_server: ModelServer
) -> None:
    model_server.answer("Well.")
    await ask(api, url(api, proxy), asked(effort="high"))
    await ask(api, url(api, proxy), asked())
    with_effort, without = proxy.bodies
    key, value = {
        "anthropic": ("output_config", {"effort": "high"}),
        "openai": ("reasoning_effort", "high"),
        "responses": ("reasoning", {"effort": "high"}),
    }[api]
    assert with_effort[key] == value
    assert key not in without


@pytest.mark.parametrize(
    ("thinking", "sent"),
    [
        ("adaptive", {"type": "adaptive"}),
        ("off", {"type": "disabled"}),
        (2048, {"type": "enabled", "budget_tokens": 2048}),
    ],
)
async def test_thinking_is_set_at_anthropic(
    thinking: Any, sent: Json, proxy: CheckingProxy, model_server: ModelServer
) -> None:
    model_server.answer("Well.")
    await ask("anthropic", proxy.url, asked(thinking=thinking))
    assert proxy.bodies[0]["thinking"] == sent


@pytest.mark.parametrize("api", ["openai", "responses"])
async def test_thinking_is_refused_where_the_api_has_none(api: str, proxy: CheckingProxy) -> None:
    with pytest.raises(ProviderFailure) as caught:
        await ask(api, url(api, proxy), asked(thinking="adaptive"))
    assert (caught.value.kind, caught.value.retryable) == (FailureType.PROVIDER_REFUSED, False)
    assert caught.value.message == (
        "the request for 'm-1' cannot be sent: OpenAI's APIs have no `thinking`; set `effort` on "
        "the persona instead, where `none` turns it off"
    )
    assert proxy.bodies == []


@pytest.mark.parametrize("api", APIS)
async def test_a_broken_history_is_not_even_sent(api: str, proxy: CheckingProxy) -> None:
    call = ModelMessage("assistant", (ToolCallPart("call_1", "get_time", "{}"),))
    broken = replace(asked(), messages=(*asked().messages, call, ModelMessage.of("user", "On.")))
    with pytest.raises(ProviderFailure, match="the call 'call_1' has no result"):
        await ask(api, url(api, proxy), broken)
    assert proxy.bodies == []


@pytest.mark.parametrize(
    ("model", "included"),
    [
        ("gpt-5.6", True),
        ("o4-mini", True),
        ("gpt-4.1-mini", False),
        ("ft:gpt-4o:acme", False),
        ("gpt-5-chat-latest", False),
    ],
)
async def test_encrypted_reasoning_is_asked_only_of_models_that_reason(
    model: str, proxy: CheckingProxy, model_server: ModelServer, *, included: bool
) -> None:
    model_server.answer("Well.")
    await ask("responses", url("responses", proxy), replace(asked(), model=model))
    assert proxy.bodies[0].get("include") == (["reasoning.encrypted_content"] if included else None)
