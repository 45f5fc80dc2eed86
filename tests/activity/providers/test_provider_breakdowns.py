"""Servers that refuse, break, stall and talk nonsense: each becomes one clear failure."""

import asyncio
import json

import pytest

from coterie.activities.contracts import FailureType
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.provider_registry import Providers
from coterie.dsl.values import Json
from tests.support.servers.asking import APIS, ask, failure, request, settings, url_of
from tests.support.servers.model_server import ModelServer
from tests.support.servers.raw_server import events, http, raw_server

START: Json = {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 1}}}
TEXT: Json = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a"}}
SSE = "text/event-stream"
OPEN_ENDED = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"


@pytest.mark.parametrize("kind", APIS)
async def test_a_429_waits_as_long_as_the_server_asks(kind: str, model_server: ModelServer) -> None:
    model_server.fail(429, "slow down", retry_after=17)
    failed = await failure(kind, url_of(kind, model_server))
    assert failed.kind == FailureType.RATE_LIMITED
    assert (failed.retryable, failed.retry_after) == (True, 17.0)
    assert failed.message == (
        f"{kind} reported that the rate limit is exceeded (429: slow down), asking to wait 17 s; "
        "run fewer calls concurrently, allow more retries, or choose another model"
    )
    assert len(model_server.requests()) == 1, "the SDK must leave trying again to Temporal"


@pytest.mark.parametrize("kind", APIS)
@pytest.mark.parametrize(
    ("status", "message"), [(529, "is overloaded"), (500, "had an internal error")]
)
async def test_an_error_of_the_server_is_tried_again(
    kind: str, status: int, message: str, model_server: ModelServer
) -> None:
    model_server.fail(status, "not today")
    failed = await failure(kind, url_of(kind, model_server))
    assert (failed.kind, failed.retryable) == (FailureType.PROVIDER_UNAVAILABLE, True)
    assert failed.message.startswith(f"{kind} {message} ({status}: not today); ")
    assert len(model_server.requests()) == 1


@pytest.mark.parametrize("kind", APIS)
async def test_the_word_of_the_server_beats_its_status(kind: str) -> None:
    final = http('{"error": {"message": "no"}}', status=529, x_should_retry="false")
    async with raw_server(final) as server:
        assert not (await failure(kind, server.url)).retryable
    again = http('{"error": {"message": "no"}}', status=400, x_should_retry="true", retry_after="4")
    async with raw_server(again) as server:
        failed = await failure(kind, server.url)
    assert (failed.kind, failed.retryable) == (FailureType.PROVIDER_UNAVAILABLE, True)
    assert failed.retry_after == 4


@pytest.mark.parametrize("kind", APIS)
async def test_a_refused_request_is_final_and_quotes_the_server(
    kind: str, model_server: ModelServer
) -> None:
    model_server.fail(400, "prompt is too long: 208310 tokens > 200000 maximum")
    failed = await failure(kind, url_of(kind, model_server))
    assert (failed.kind, failed.retryable) == (FailureType.CONTEXT_WINDOW_EXCEEDED, False)
    assert failed.message == (
        f"{kind} found the prompt too long for 'm-1' (400: prompt is too long: 208310 tokens > "
        "200000 maximum); send less context, choose a model with a larger window, or set "
        "`compaction` in the persona for long conversations"
    )


@pytest.mark.parametrize("kind", APIS)
async def test_a_lost_connection_is_tried_again(kind: str, model_server: ModelServer) -> None:
    model_server.answer("never arrives")
    model_server.chaos(disconnectRate=1)
    failed = await failure(kind, url_of(kind, model_server))
    assert (failed.kind, failed.retryable) == (FailureType.PROVIDER_UNAVAILABLE, True)
    assert "closed the connection before its answer was complete" in failed.message


async def test_a_connection_lost_in_the_middle_of_a_stream_is_tried_again(
    model_server: ModelServer,
) -> None:
    long: Json = {"match": {"endpoint": "chat"}, "response": {"content": "word " * 100}}
    model_server.add({**long, "truncateAfterChunks": 4})
    failed = await failure("anthropic", model_server.anthropic_url)
    assert (failed.kind, failed.retryable) == (FailureType.PROVIDER_UNAVAILABLE, True)
    assert "closed the connection before its answer was complete" in failed.message


@pytest.mark.parametrize("kind", APIS)
async def test_a_malformed_body_is_tried_again(kind: str, model_server: ModelServer) -> None:
    model_server.answer("garbled")
    model_server.chaos(malformedRate=1)
    failed = await failure(kind, url_of(kind, model_server))
    assert (failed.kind, failed.retryable) == (FailureType.PROVIDER_UNAVAILABLE, True)
    assert "sent an answer that does not match its API" in failed.message


@pytest.mark.parametrize(
    ("kind", "body", "content_type", "is_whole"),
    [
        ("openai", "{}", "application/json", True),
        ("openai", '{"choices": []}', "application/json", True),
        ("openai", '{"choices": "many"}', "application/json", True),
        ("openai", "[1]", "application/json", True),
        ("openai", "<html>Welcome</html>", "text/html", False),
        ("anthropic", '{"content": []}', "application/json", False),
        ("anthropic", "<html>Welcome</html>", "text/html", False),
        ("anthropic", 'event: message_start\ndata: {"type": \n\n', SSE, False),
        ("anthropic", "event: message_start\ndata: 5\n\n", SSE, True),
        ("anthropic", events({"type": "message_start", "message": 5}), SSE, True),
        ("anthropic", events(START, {**TEXT, "delta": {"text": ["a"]}}), SSE, True),
        ("responses", "<html>Welcome</html>", "text/html", False),
        ("responses", "data: 5\n\n", SSE, True),
        ("responses", events({"type": "response.completed", "response": 5}), SSE, True),
        ("responses", events({"type": "response.completed"}), SSE, True),
    ],
)
async def test_an_answer_of_another_shape_is_tried_again_only_if_it_may_be_cut_off(
    kind: str, body: str, content_type: str, *, is_whole: bool
) -> None:
    """An answer that we cannot read is no outage: the next one would be paid for in vain."""
    async with raw_server(http(body, kind=content_type)) as server:
        failed = await failure(kind, server.url)
    if is_whole:
        assert (failed.kind, failed.retryable) == (FailureType.ANSWER_UNREADABLE, False)
        assert "sent an answer in a form that Coterie does not know" in failed.message
    else:
        assert (failed.kind, failed.retryable) == (FailureType.PROVIDER_UNAVAILABLE, True)
        assert "sent an answer that does not match its API" in failed.message
    assert "\n" not in failed.message


@pytest.mark.parametrize(
    ("kind", "body", "content_type"),
    [
        ("anthropic", events(START, TEXT), SSE),
        ("openai", json.dumps({"choices": [{"message": {"content": "a"}}]}), "application/json"),
    ],
)
async def test_an_answer_without_a_stop_reason_is_taken_for_cut(
    kind: str, body: str, content_type: str
) -> None:
    async with raw_server(http(body, kind=content_type)) as server:
        failed = await failure(kind, server.url)
    assert (failed.kind, failed.retryable) == (FailureType.PROVIDER_UNAVAILABLE, True)
    assert "it may be cut" in failed.message


@pytest.mark.parametrize(
    ("kind", "body", "content_type", "status", "retryable"),
    [
        (
            "anthropic",
            events(
                START,
                {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
            ),
            SSE,
            529,
            True,
        ),
        (
            "anthropic",
            events({"type": "error", "error": {"type": "invalid_request_error", "message": "No"}}),
            SSE,
            400,
            False,
        ),
        ("openai", '{"error": {"code": 502, "message": "behind"}}', "application/json", 502, True),
        ("openai", '{"error": {"code": 403, "message": "geo"}}', "application/json", 403, False),
    ],
)
async def test_an_error_inside_a_200_answer_counts_as_what_it_is(
    kind: str, body: str, content_type: str, status: int, *, retryable: bool
) -> None:
    async with raw_server(http(body, kind=content_type)) as server:
        failed = await failure(kind, server.url)
    assert f"({status}: " in failed.message
    assert failed.retryable is retryable


@pytest.mark.parametrize("kind", APIS)
async def test_a_silent_server_is_left_when_the_time_is_up(
    kind: str, model_server: ModelServer
) -> None:
    model_server.answer("much later")
    model_server.chaos(latencyMs=30_000)
    failed = await failure(kind, url_of(kind, model_server), request(timeout=0.2))
    assert (failed.kind, failed.retryable) == (FailureType.PROVIDER_UNAVAILABLE, True)
    assert failed.message == (
        f"{kind} did not complete its answer within 0.2 s; raise `timeout`, or ask for less"
    )


async def test_a_stream_that_stops_in_the_middle_is_left_when_the_time_is_up() -> None:
    async with raw_server(OPEN_ENDED + events(START, TEXT).encode(), hang=True) as server:
        failed = await failure("anthropic", server.url, request(timeout=0.2))
    assert "did not complete its answer within 0.2 s" in failed.message


@pytest.mark.parametrize("kind", APIS)
async def test_a_server_that_never_ends_cannot_stretch_the_time(kind: str) -> None:
    async with raw_server(OPEN_ENDED, drip=b"\n") as server:
        failed = await failure(kind, server.url, request(timeout=0.3))
    assert "did not complete its answer within 0.3 s" in failed.message


@pytest.mark.parametrize("kind", APIS)
async def test_an_unreachable_server_is_named_without_the_password_in_its_url(kind: str) -> None:
    async with raw_server(b"") as server:
        port = server.url.rpartition(":")[2]  # free again below
    failed = await failure(kind, f"http://user:hush@127.0.0.1:{port}/api")
    assert (failed.kind, failed.retryable) == (FailureType.PROVIDER_UNAVAILABLE, True)
    assert failed.message.startswith(f"could not reach {kind} at http://127.0.0.1:{port}/api (")
    assert "hush" not in failed.message


@pytest.mark.parametrize("kind", APIS)
async def test_a_proxy_that_cannot_be_reached_is_named_without_its_password(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://user:hush@127.0.0.1:1")
    failed = await failure(kind, "http://models.example:8080/api")
    assert (failed.kind, failed.retryable) == (FailureType.PROVIDER_UNAVAILABLE, True)
    assert " through the proxy 127.0.0.1:1 (" in failed.message
    assert failed.message.endswith("check that proxy and api_base, or name the host in NO_PROXY")
    assert "hush" not in failed.message


@pytest.mark.parametrize("kind", APIS)
@pytest.mark.parametrize("name", ["HTTP_PROXY", "ALL_PROXY"])
async def test_a_server_of_this_machine_is_reached_without_the_proxy(
    kind: str, name: str, model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:1")
    model_server.answer("fine")
    assert (await ask(kind, url_of(kind, model_server))).text == "fine"


@pytest.mark.parametrize("kind", APIS)
async def test_cancelling_a_call_closes_its_connection(kind: str) -> None:
    providers = Providers({})
    async with raw_server(b"", hang=True) as server:
        providers = Providers({kind: settings(kind, server.url)})
        call = asyncio.create_task(providers.get(kind).complete(request()))
        await server.asked.wait()
        assert not server.left.is_set()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(server.left.wait(), timeout=120)
    await providers.close()


@pytest.mark.parametrize("kind", APIS)
async def test_the_next_call_after_a_failure_works(kind: str, model_server: ModelServer) -> None:
    model_server.fail(529, "once", nth=0)
    model_server.answer("fine")
    with pytest.raises(ProviderFailure):
        await ask(kind, url_of(kind, model_server))
    assert (await ask(kind, url_of(kind, model_server))).text == "fine"
