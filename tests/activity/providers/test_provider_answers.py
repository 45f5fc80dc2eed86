"""What a provider sends, and what it makes of an answer: the real SDKs against the stand-in."""

import json

import pytest

from coterie.activities.contracts import FailureType, StopReason, TokenUsage
from coterie.activities.providers.message_model import ModelMessage
from coterie.dsl.values import Json
from tests.support.servers.asking import APIS, ask, failure, request, url_of
from tests.support.servers.model_server import ModelServer
from tests.support.servers.raw_server import events, http, raw_server

SCHEMA: Json = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "minLength": 2}},
    "required": ["verdict"],
}
STRICT: Json = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "description": '{"minLength": 2}'}},
    "required": ["verdict"],
    "additionalProperties": False,
}
OPEN_SCHEMA: Json = {"type": "object", "additionalProperties": {"type": "integer"}}

CLAUDE_SAYS = events(
    {
        "type": "message_start",
        "message": {
            "model": "claude-real",
            "usage": {
                "input_tokens": 10,
                "cache_read_input_tokens": 200,
                "cache_creation_input_tokens": 30,
                "output_tokens": 1,
            },
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking"}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "thinking_delta", "thinking": "hm"},
    },
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hel"}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "lo"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
    {"type": "message_stop"},
)
GPT_SAYS = json.dumps(
    {
        "model": "gpt-real",
        "choices": [{"finish_reason": "stop", "message": {"content": "Hello"}}],
        "usage": {
            "prompt_tokens": 240,
            "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 200, "cache_write_tokens": 30},
        },
    }
)
RESPONSE_SAYS = events(
    {"type": "response.created", "response": {"status": "in_progress", "output": []}},
    {"type": "response.output_text.delta", "delta": "Hello"},
    {
        "type": "response.completed",
        "response": {
            "status": "completed",
            "model": "gpt-real",
            "output": [
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"},
                {
                    "type": "message",
                    "id": "msg_1",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "Hello", "annotations": []}],
                },
            ],
            "usage": {
                "input_tokens": 240,
                "output_tokens": 7,
                "input_tokens_details": {"cached_tokens": 200, "cache_write_tokens": 30},
            },
        },
    },
)
SAYS = {
    "anthropic": http(CLAUDE_SAYS, kind="text/event-stream"),
    "openai": http(GPT_SAYS),
    "responses": http(RESPONSE_SAYS, kind="text/event-stream"),
}


@pytest.mark.parametrize("kind", APIS)
async def test_a_text_comes_back_with_the_model_that_said_it(
    kind: str, model_server: ModelServer
) -> None:
    model_server.answer("good morning", user="hello", model="m-1-dated")
    answer = await ask(kind, url_of(kind, model_server))
    assert (answer.text, answer.stop_reason, answer.model) == ("good morning", "end", "m-1-dated")


@pytest.mark.parametrize("kind", APIS)
async def test_system_prompt_turns_and_settings_reach_the_model(
    kind: str, model_server: ModelServer
) -> None:
    model_server.answer("done", system="a critic", user="again")
    turns = (
        ModelMessage.of("user", "first"),
        ModelMessage.of("assistant", "[]"),
        ModelMessage.of("user", "again"),
    )
    await ask(
        kind,
        url_of(kind, model_server),
        request(system="You are a critic", messages=turns, max_tokens=77, temperature=0.25),
    )
    body = model_server.requests()[0].body
    assert body["messages"] == [
        {"role": "system", "content": "You are a critic"},
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "[]"},
        {"role": "user", "content": "again"},
    ]
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("m-1", 77, 0.25)


@pytest.mark.parametrize("kind", APIS)
async def test_sampling_is_sent_only_where_it_is_set(kind: str) -> None:
    async with raw_server(SAYS[kind]) as server:
        await ask(kind, server.url, request(top_p=0.5))
        await ask(kind, server.url, request())
    first, second = (received.body for received in server.requests)
    assert first["top_p"] == 0.5
    assert "temperature" not in first
    assert not {"temperature", "top_p"} & set(second)


MODELS = {"anthropic": "claude-real", "openai": "gpt-real", "responses": "gpt-real"}
"""Who says it has answered, in `SAYS`."""


@pytest.mark.parametrize("kind", APIS)
async def test_usage_counts_cached_input_in(kind: str) -> None:
    async with raw_server(SAYS[kind]) as server:
        answer = await ask(kind, server.url)
    assert answer.text == "Hello"
    assert answer.model == MODELS[kind]
    assert answer.usage == TokenUsage(240, 7, cached_tokens=200, cache_write_tokens=30)


ANSWER_FORMS: dict[str, Json] = {
    "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": STRICT}}},
    "openai": {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": STRICT},
        }
    },
    "responses": {
        "text": {
            "format": {"type": "json_schema", "name": "answer", "strict": True, "schema": STRICT}
        }
    },
}


@pytest.mark.parametrize("kind", APIS)
async def test_a_structured_answer_is_asked_for_by_the_api_own_feature(
    kind: str, model_server: ModelServer
) -> None:
    model_server.answer({"verdict": "no"})
    asked = request(output_schema=SCHEMA)
    answer = await ask(kind, url_of(kind, model_server), asked)
    assert json.loads(answer.text) == {"verdict": "no"}
    async with raw_server(SAYS[kind]) as server:
        await ask(kind, server.url, asked)
    body = server.requests[0].body
    assert {key: body[key] for key in ANSWER_FORMS[kind]} == ANSWER_FORMS[kind]


async def test_openai_is_not_strict_where_a_key_is_optional() -> None:
    schema: Json = {**SCHEMA, "required": []}
    async with raw_server(SAYS["openai"]) as server:
        await ask("openai", server.url, request(output_schema=schema))
    assert server.requests[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": False, "schema": schema},
    }


@pytest.mark.parametrize(
    ("kind", "schema"), [("anthropic", OPEN_SCHEMA), ("openai", {"type": "array", "items": {}})]
)
async def test_a_schema_beyond_the_feature_is_reported_in_the_system_prompt(
    kind: str, schema: Json
) -> None:
    async with raw_server(SAYS[kind]) as server:
        await ask(kind, server.url, request(system="Be brief.", output_schema=schema))
    body = server.requests[0].body
    assert not {"output_config", "response_format"} & set(body)
    sent = json.dumps(body)
    assert "Be brief." in sent
    assert json.dumps(json.dumps(schema)).strip('"') in sent


@pytest.mark.parametrize(
    ("kind", "said", "understood"),
    [
        ("anthropic", "length", "max_tokens"),
        ("anthropic", "model_context_window_exceeded", "max_tokens"),
        ("anthropic", "refusal", "refusal"),
        ("anthropic", "stop_sequence", "end"),
        ("anthropic", "pause_turn", "other"),
        ("openai", "length", "max_tokens"),
        ("openai", "content_filter", "refusal"),
        ("openai", "function_call", "other"),
    ],
)
async def test_why_the_model_stopped_is_never_lost(
    kind: str, said: str, understood: StopReason, model_server: ModelServer
) -> None:
    model_server.answer("half an ans", finishReason=said)
    answer = await ask(kind, url_of(kind, model_server))
    assert (answer.text, answer.stop_reason) == ("half an ans", understood)


@pytest.mark.parametrize(
    ("reason", "understood"),
    [("max_output_tokens", "max_tokens"), ("content_filter", "refusal"), ("new", "other")],
)
async def test_why_an_incomplete_response_ended_is_never_lost(
    reason: str, understood: StopReason
) -> None:
    said: Json = {"type": "output_text", "text": "half an ans"}
    call: Json = {"type": "function_call", "call_id": "c", "name": "look", "arguments": '{"a'}
    response: Json = {
        "status": "incomplete",
        "incomplete_details": {"reason": reason},
        "output": [{"type": "message", "content": [said]}, call],
    }
    body = events({"type": "response.incomplete", "response": response})
    async with raw_server(http(body, kind="text/event-stream")) as server:
        answer = await ask("responses", server.url)
    assert (answer.text, answer.stop_reason) == ("half an ans", understood)


@pytest.mark.parametrize(
    ("body", "kind", "retryable"),
    [
        (
            {
                "type": "response.failed",
                "response": {
                    "status": "failed",
                    "error": {"code": "server_error", "message": "not today"},
                    "usage": {"input_tokens": 5, "output_tokens": 1},
                },
            },
            FailureType.PROVIDER_UNAVAILABLE,
            True,
        ),
        (
            {
                "type": "response.failed",
                "response": {
                    "status": "failed",
                    "error": {"code": "invalid_prompt", "message": "not today"},
                },
            },
            FailureType.PROVIDER_REFUSED,
            False,
        ),
        (
            {"type": "error", "code": "rate_limit_exceeded", "message": "not today"},
            FailureType.RATE_LIMITED,
            True,
        ),
    ],
)
async def test_a_response_that_failed_is_a_failure_though_its_status_is_200(
    body: Json, kind: str, *, retryable: bool
) -> None:
    async with raw_server(http(events(body), kind="text/event-stream")) as server:
        failed = await failure("responses", server.url)
    assert (failed.kind, failed.retryable) == (kind, retryable)
    assert "not today" in failed.message
    used = body["type"] == "response.failed" and kind == FailureType.PROVIDER_UNAVAILABLE
    assert failed.usage == (TokenUsage(5, 1) if used else None)


@pytest.mark.parametrize(
    "url", ["http://eu.api.openai.com/v1", "http://shop.openai.azure.com/openai/v1"]
)
async def test_openai_own_servers_get_the_newer_name_of_the_token_limit_and_a_key_of_the_cache(
    monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    async with raw_server(SAYS["openai"]) as server:
        monkeypatch.setenv("HTTP_PROXY", server.url)
        await ask("openai", url, request(max_tokens=9))
        await ask("openai", url, request(prompt_cache="off"))
    assert server.requests[0].path == f"{url}/chat/completions"
    body, without = (one.body for one in server.requests)
    assert (body["max_completion_tokens"], "max_tokens" in body) == (9, False)
    assert ("prompt_cache_key" in body, "prompt_cache_key" in without) == (True, False)


async def test_openai_own_refusal_is_a_refusal_with_its_words() -> None:
    body = {"choices": [{"finish_reason": "stop", "message": {"refusal": "I cannot do that"}}]}
    async with raw_server(http(json.dumps(body))) as server:
        answer = await ask("openai", server.url)
    assert (answer.text, answer.stop_reason) == ("I cannot do that", "refusal")
    assert answer.model == "m-1"


@pytest.mark.parametrize("kind", APIS)
async def test_an_answer_without_text_is_an_empty_text(
    kind: str, model_server: ModelServer
) -> None:
    model_server.add(
        {
            "match": {"endpoint": "chat"},
            "response": {"toolCalls": [{"name": "look", "arguments": {}}]},
        }
    )
    answer = await ask(kind, url_of(kind, model_server))
    assert (answer.text, answer.stop_reason) == ("", "tool_calls")


def counted_by(
    api: str, prompt: int, output: int, reasoning: int | None, total: int | None
) -> bytes:
    """An answer with this usage."""
    details: Json = {"reasoning_tokens": reasoning}
    if api == "openai":
        usage: Json = {"prompt_tokens": prompt, "completion_tokens": output}
        usage |= {"total_tokens": total, "completion_tokens_details": details}
        message: Json = {"finish_reason": "stop", "message": {"content": "Hello"}}
        return http(json.dumps({"choices": [message], "usage": usage}))
    used: Json = {"input_tokens": prompt, "output_tokens": output, "total_tokens": total}
    used["output_tokens_details"] = details
    done: Json = {"status": "completed", "output": [], "usage": used}
    return http(events({"type": "response.completed", "response": done}), kind="text/event-stream")


@pytest.mark.parametrize("api", ["openai", "responses"])
@pytest.mark.parametrize(
    ("output", "reasoning", "total", "counted"),
    [
        (9, None, None, 9),
        (9, 4, 19, 9),
        (9, 300, None, 309),
        (9, 300, 319, 309),
        (9, None, 319, 309),
        (9, 5, 24, 14),
        (9, 4, 12, 9),
    ],
)
async def test_reasoning_is_counted_wherever_a_server_puts_it(
    api: str, output: int, reasoning: int | None, total: int | None, counted: int
) -> None:
    """Some leave it out of the output, but not of the total, and bill it."""
    async with raw_server(counted_by(api, 10, output, reasoning, total)) as server:
        answer = await ask(api, server.url)
    assert answer.usage == TokenUsage(10, counted)


@pytest.mark.parametrize(
    ("creation", "cache", "hour"),
    [
        ({"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20}, "1h", 20),
        ({"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 0}, "1h", 0),
        (None, "1h", 30),
        (None, "5m", 0),
    ],
)
async def test_input_that_is_cached_for_an_hour_is_counted_apart(
    creation: Json | None, cache: str, hour: int
) -> None:
    usage: Json = {"input_tokens": 10, "cache_creation_input_tokens": 30, "output_tokens": 1}
    usage["cache_creation"] = creation
    start: Json = {"type": "message_start", "message": {"model": "m", "usage": usage}}
    end: Json = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    async with raw_server(http(events(start, end), kind="text/event-stream")) as server:
        answer = await ask("anthropic", server.url, request(prompt_cache=cache))
    assert answer.usage == TokenUsage(40, 1, 0, 30, hour)
