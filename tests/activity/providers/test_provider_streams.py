"""A streamed answer: shown piece by piece, and in the end the same as one that came at once."""

import asyncio
import json
from dataclasses import replace

import pytest

from coterie.activities.contracts import FailureType, TokenUsage
from coterie.activities.providers.provider import ModelRequest
from coterie.activities.providers.provider_registry import Providers
from coterie.dsl.values import Json
from tests.support.servers.asking import APIS, ask, failure, request, settings, url_of
from tests.support.servers.model_server import ModelServer
from tests.support.servers.raw_server import events, http, raw_server

SSE = "text/event-stream"
OPEN_ENDED = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
LONG = "One line of a long answer.\n" * 8
SCHEMA: Json = {"type": "object", "properties": {"verdict": {"type": "string"}}}


def streamed() -> tuple[ModelRequest, list[str]]:
    """A request whose text is shown, and what is shown of it."""
    shown: list[str] = []
    return request(on_text=shown.append), shown


def chunks(*bodies: Json) -> str:
    """Events of Chat Completions."""
    return "".join(f"data: {json.dumps(body)}\n\n" for body in bodies)


def piece(text: str, **more: object) -> Json:
    """One event with a piece of text."""
    body = {"model": "m", "choices": [{"index": 0, "delta": {"content": text}}], **more}
    return json.loads(json.dumps(body))


BEGINNINGS = {
    "anthropic": events(
        {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 11}}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Once "}},
    ),
    "openai": chunks(piece("Once ", usage={"prompt_tokens": 11})),
    "responses": events({"type": "response.output_text.delta", "delta": "Once "}),
}
ENDED: Json = {
    "status": "completed",
    "model": "m",
    "output": [{"type": "message", "content": [{"type": "output_text", "text": "Once"}]}],
    "usage": {"input_tokens": 11, "output_tokens": 2},
}
"""A whole answer of the Responses API."""
USAGE_SO_FAR = {
    "anthropic": TokenUsage(11, 0),
    "openai": TokenUsage(11, 0),
    "responses": None,  # counts only at the end
}
"""What is known after `BEGINNINGS`."""


USAGE_KEYS = {
    "anthropic": ("input_tokens", "output_tokens"),
    "openai": ("prompt_tokens", "completion_tokens"),
    "responses": ("input_tokens", "output_tokens"),
}


@pytest.mark.parametrize("kind", APIS)
@pytest.mark.parametrize("finish", ["stop", "length"])
async def test_a_stream_ends_in_the_same_answer_as_one_that_came_at_once(
    kind: str, finish: str, model_server: ModelServer
) -> None:
    sent, received = USAGE_KEYS[kind]
    model_server.answer(LONG, usage={sent: 40, received: 9}, finishReason=finish)
    url = url_of(kind, model_server)
    watched, shown = streamed()
    completion = await ask(kind, url, watched)
    again = await ask(kind, url)
    assert (completion.text, completion.stop_reason) == (again.text, again.stop_reason)
    assert (completion.model, completion.usage) == (again.model, again.usage)
    assert completion.text == "".join(shown) == LONG
    assert completion.usage == TokenUsage(40, 9)
    assert len(shown) > 1


@pytest.mark.parametrize("kind", APIS)
async def test_a_streamed_answer_can_have_a_schema(kind: str, model_server: ModelServer) -> None:
    model_server.answer({"verdict": "fine"})
    watched, shown = streamed()
    schema = replace(watched, output_schema=SCHEMA)
    completion = await ask(kind, url_of(kind, model_server), schema)
    assert json.loads("".join(shown)) == json.loads(completion.text) == {"verdict": "fine"}


@pytest.mark.parametrize("kind", APIS)
async def test_a_stream_that_breaks_is_retried_and_what_it_used_is_counted(kind: str) -> None:
    watched, shown = streamed()
    async with raw_server(OPEN_ENDED + BEGINNINGS[kind].encode()) as server:
        failed = await failure(kind, server.url, watched)
    assert (failed.kind, failed.retryable) == (FailureType.PROVIDER_UNAVAILABLE, True)
    assert failed.usage == USAGE_SO_FAR[kind]
    assert shown == ["Once "]


async def test_a_stream_of_chat_completions_without_a_finish_reason_is_taken_for_cut() -> None:
    watched, _ = streamed()
    body = BEGINNINGS["openai"] + "data: [DONE]\n\n"
    async with raw_server(http(body, kind=SSE)) as server:
        failed = await failure("openai", server.url, watched)
    assert "it may be cut" in failed.message
    assert (failed.retryable, failed.usage) == (True, TokenUsage(11, 0))


@pytest.mark.parametrize(
    ("error", "status", "retryable"),
    [
        ({"type": "server_error", "message": "behind"}, 500, True),
        ({"code": 403, "message": "geo"}, 403, False),
    ],
)
async def test_an_error_event_of_chat_completions_counts_as_what_it_is(
    error: Json, status: int, *, retryable: bool
) -> None:
    watched, _ = streamed()
    body = BEGINNINGS["openai"] + chunks({"error": error})
    async with raw_server(http(body, kind=SSE)) as server:
        failed = await failure("openai", server.url, watched)
    assert f"({status}: {error['message']})" in failed.message
    assert failed.retryable is retryable
    assert failed.usage == TokenUsage(11, 0)


@pytest.mark.parametrize(
    ("body", "content_type", "kind"),
    [
        (
            '{"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}',
            "text/json",
            FailureType.PROVIDER_UNAVAILABLE,
        ),
        ('data: {"choices": \n\n', SSE, FailureType.PROVIDER_UNAVAILABLE),
        ("data: 5\n\n", SSE, FailureType.ANSWER_UNREADABLE),
        (chunks({"choices": "many"}), SSE, FailureType.ANSWER_UNREADABLE),
        (chunks({"choices": [{"delta": {"content": 5}}]}), SSE, FailureType.ANSWER_UNREADABLE),
    ],
)
async def test_a_stream_of_another_shape_is_a_failure_not_a_crash(
    body: str, content_type: str, kind: str
) -> None:
    watched, _ = streamed()
    async with raw_server(http(body, kind=content_type)) as server:
        failed = await failure("openai", server.url, watched)
    is_outage = kind == FailureType.PROVIDER_UNAVAILABLE
    assert (failed.kind, failed.retryable) == (kind, is_outage)


async def test_a_streamed_refusal_is_a_refusal_and_shows_nothing() -> None:
    refusal = {"model": "m", "choices": [{"delta": {"refusal": "No."}, "finish_reason": "stop"}]}
    watched, shown = streamed()
    async with raw_server(http(chunks(json.loads(json.dumps(refusal))), kind=SSE)) as server:
        completion = await ask("openai", server.url, watched)
    assert (completion.text, completion.stop_reason, shown) == ("No.", "refusal", [])


@pytest.mark.parametrize("kind", APIS)
async def test_cancelling_a_stream_closes_its_connection(kind: str) -> None:
    begun = asyncio.Event()
    async with raw_server(OPEN_ENDED + BEGINNINGS[kind].encode(), hang=True) as server:
        providers = Providers({kind: settings(kind, server.url)})

        def show(piece: str) -> None:
            begun.set()

        watched = request(on_text=show)
        call = asyncio.create_task(providers.get(kind).complete(watched))
        await asyncio.wait_for(begun.wait(), timeout=60)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(server.left.wait(), timeout=120)
    await providers.close()


async def test_a_stream_of_responses_is_left_at_its_end_although_the_server_keeps_it_open() -> None:
    end = events({"type": "response.completed", "response": ENDED})
    watched, shown = streamed()
    body = OPEN_ENDED + BEGINNINGS["responses"].encode() + end.encode()
    async with raw_server(body, hang=True) as server:
        completion = await ask("responses", server.url, replace(watched, timeout=30.0))
        await asyncio.wait_for(server.left.wait(), timeout=120)
    assert (completion.text, completion.usage, shown) == ("Once", TokenUsage(11, 2), ["Once "])
