"""The batch API of OpenAI, by the real client: submit once, collect, cancel, and what can fail."""

import json
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any

import pytest

from coterie.activities.contracts import FailureType, StartedBatch, TokenUsage
from coterie.activities.providers.batches.batch_provider import BatchProvider
from coterie.activities.providers.message_model import ModelMessage
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.provider_registry import Providers
from tests.support.servers.asking import request, settings
from tests.support.servers.batch_server import BatchServer, batch_server

SINCE = datetime(2026, 5, 1, tzinfo=UTC)
CALL = "coterie-0123"
BODIES: dict[str, Any] = {
    "openai": {
        "model": "m-1",
        "choices": [{"finish_reason": "stop", "message": {"content": "rain"}}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3},
    },
    "responses": {
        "model": "m-1",
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "rain"}]}],
        "usage": {"input_tokens": 12, "output_tokens": 3},
    },
}
URLS = {"openai": "/v1/chat/completions", "responses": "/v1/responses"}


@pytest.fixture
async def server() -> AsyncGenerator[BatchServer]:
    async with batch_server() as made:
        yield made


@pytest.fixture(params=URLS)
async def api(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def provider(api: str, server: BatchServer) -> AsyncGenerator[BatchProvider]:
    providers = Providers({api: settings(api, server.url)})
    found = providers.get(api)
    assert isinstance(found, BatchProvider)
    yield found
    await providers.close()


async def submitted(provider: BatchProvider, call: str = CALL) -> StartedBatch:
    return StartedBatch(id=await provider.submit(request(), call, SINCE), custom_id=call)


async def failure(provider: BatchProvider, batch: StartedBatch) -> ProviderFailure:
    with pytest.raises(ProviderFailure) as caught:
        await provider.collect(request(), batch)
    return caught.value


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"thinking": 2048}, "have no `thinking`"),
        ({"messages": (ModelMessage.of("assistant", "Hm."),)}, "is not a user message"),
    ],
)
async def test_a_call_that_the_vendor_would_refuse_is_not_submitted(
    fields: dict[str, Any], why: str, provider: BatchProvider, server: BatchServer
) -> None:
    with pytest.raises(ProviderFailure, match=why) as caught:
        await provider.submit(request(**fields), CALL, SINCE)
    assert (caught.value.kind, caught.value.retryable) == (FailureType.PROVIDER_REFUSED, False)
    assert server.batches == []


async def test_a_call_is_submitted_and_its_answer_collected(
    api: str, provider: BatchProvider, server: BatchServer
) -> None:
    batch = await submitted(provider)
    assert await provider.collect(request(), batch) is None
    server.end("completed", {"status_code": 200, "body": BODIES[api]})
    completion = await provider.collect(request(), batch)
    assert completion is not None
    assert (completion.text, completion.stop_reason) == ("rain", "end")
    assert completion.usage == TokenUsage(input_tokens=12, output_tokens=3)
    line = server.lines[server.batches[0]["input_file_id"]]
    assert (line["url"], line["custom_id"], line["body"]["model"]) == (URLS[api], CALL, "m-1")
    assert "stream" not in line["body"]
    assert server.batches[0]["endpoint"] == URLS[api]


async def test_an_answer_may_contain_what_ends_a_line_elsewhere(
    api: str, provider: BatchProvider, server: BatchServer
) -> None:
    batch = await submitted(provider)
    body = json.loads(json.dumps(BODIES[api]).replace("rain", r"r\u2028a\u0085in"))
    server.end("completed", {"status_code": 200, "body": body})
    completion = await provider.collect(request(), batch)
    assert completion is not None
    assert completion.text == "r\u2028a\u0085in"


async def test_a_later_attempt_finds_the_batch_of_the_call(
    provider: BatchProvider, server: BatchServer
) -> None:
    first = await submitted(provider)
    other = await submitted(provider, "coterie-4567")
    assert await submitted(provider) == first
    assert other.id != first.id
    assert len(server.batches) == 2


async def test_an_older_batch_is_not_the_call_s(
    provider: BatchProvider, server: BatchServer
) -> None:
    await submitted(provider)
    server.batches[0]["created_at"] = int(SINCE.timestamp()) - 1
    await submitted(provider)
    assert len(server.batches) == 2


async def test_a_batch_that_is_not_wanted_is_cancelled(
    provider: BatchProvider, server: BatchServer
) -> None:
    await provider.cancel(await submitted(provider))
    assert server.batches[0]["status"] == "cancelling"


@pytest.mark.parametrize(
    ("status", "response", "error", "kind", "words"),
    [
        ("expired", None, None, FailureType.PROVIDER_UNAVAILABLE, "has expired before"),
        (
            "expired",
            None,
            {"code": "batch_expired"},
            FailureType.PROVIDER_UNAVAILABLE,
            "has expired before",
        ),
        ("cancelled", None, None, FailureType.PROVIDER_UNAVAILABLE, "been cancelled"),
        ("failed", None, None, FailureType.PROVIDER_REFUSED, "refused the batch batch_1"),
        (
            "completed",
            None,
            {"message": "no\nluck"},
            FailureType.PROVIDER_UNAVAILABLE,
            "failed (no luck)",
        ),
        (
            "completed",
            {"status_code": 429, "body": {"error": {"message": "slow down"}}},
            None,
            FailureType.RATE_LIMITED,
            "slow down",
        ),
        (
            "completed",
            {"status_code": 400, "body": {"error": {"message": "bad field"}}},
            None,
            FailureType.PROVIDER_REFUSED,
            "bad field",
        ),
    ],
)
async def test_an_item_without_an_answer_is_a_failure_that_no_look_repeats(
    provider: BatchProvider,
    server: BatchServer,
    status: str,
    response: object,
    error: object,
    kind: str,
    words: str,
) -> None:
    batch = await submitted(provider)
    server.end(status, response, error)
    failed = await failure(provider, batch)
    assert (failed.kind, failed.retryable) == (kind, False)
    assert words in failed.message


async def test_an_answer_of_another_form_is_not_taken(
    provider: BatchProvider, server: BatchServer
) -> None:
    batch = await submitted(provider)
    server.end("completed", {"status_code": 200, "body": ["what?"]})
    assert (await failure(provider, batch)).kind == FailureType.ANSWER_UNREADABLE


async def test_an_id_that_is_not_one_is_not_taken(
    provider: BatchProvider, server: BatchServer
) -> None:
    await submitted(provider)
    server.batches[0]["id"] = "b\x1b[2J"
    server.batches[0]["metadata"] = {"custom_id": "again"}
    with pytest.raises(ProviderFailure, match="a form that Coterie does not know"):
        await submitted(provider, "again")
