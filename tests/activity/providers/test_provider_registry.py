"""The providers of a worker: by name, made late, and never with a key in sight."""

import asyncio
import json
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Literal

import pytest
from temporalio.api.failure.v1 import Failure
from temporalio.converter import DefaultFailureConverter, default

from coterie.activities.contracts import FailureType
from coterie.activities.providers.openai import OpenAIProvider
from coterie.activities.providers.openai_responses import OpenAIResponsesProvider
from coterie.activities.providers.provider import Completion, ModelRequest, ProviderSettings
from coterie.activities.providers.provider_failures import ProviderFailure, to_application_error
from coterie.activities.providers.provider_registry import Providers
from coterie.dsl.values import Json
from tests.support.servers.asking import APIS, KEY, KINDS, failure, request, settings
from tests.support.servers.raw_server import http, raw_server


def refused(providers: Providers, name: str) -> ProviderFailure:
    with pytest.raises(ProviderFailure) as caught:
        providers.get(name)
    return caught.value


def test_importing_the_registry_loads_no_sdk() -> None:
    code = (
        "import activities.providers.provider_registry, sys;"
        "print([m for m in ('anthropic', 'openai', 'httpx2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_using_one_provider_does_not_load_the_other() -> None:
    code = (
        "import sys; from activities.providers.provider_registry import Providers;"
        "from activities.providers.provider import Completion, ModelRequest, ProviderSettings as S;"
        "Providers({'o': S('o', 'openai', api_key='k')}).get('o');"
        "print([m for m in ('anthropic', 'openai') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['openai']"


async def test_a_provider_is_made_once_until_it_is_closed() -> None:
    providers = Providers({"openai": settings("openai", None)})
    first = providers.get("openai")
    assert providers.get("openai") is first
    await providers.close()
    assert providers.get("openai") is not first
    await providers.close()


class Closable:
    """A provider of a package that notes how often it was closed."""

    def __init__(self, settings: ProviderSettings) -> None:
        self.closed = 0

    async def complete(self, request: ModelRequest) -> Completion:
        raise AssertionError

    async def close(self) -> None:
        self.closed += 1


async def test_closing_closes_each_provider_that_was_made_once() -> None:
    settings = {name: ProviderSettings(name, "mine") for name in ("first", "second", "unused")}
    made: list[Closable] = []

    def make(settings: ProviderSettings) -> Closable:
        made.append(Closable(settings))
        return made[-1]

    providers = Providers(settings, {"mine": make})
    providers.get("first")
    providers.get("second")
    await providers.close()
    await providers.close()
    assert [one.closed for one in made] == [1, 1]


KEPT_OPEN = b"HTTP/1.1 404 None\r\ncontent-type: text/json\r\ncontent-length: 2\r\n\r\n{}"


@pytest.mark.parametrize("kind", APIS)
async def test_closing_closes_the_connection_that_a_provider_keeps(kind: str) -> None:
    async with raw_server(KEPT_OPEN, hang=True) as server:
        providers = Providers({kind: settings(kind, server.url)})
        provider = providers.get(kind)
        with pytest.raises(ProviderFailure):
            await provider.complete(request())
        assert not server.left.is_set()
        await providers.close()
        await asyncio.wait_for(server.left.wait(), timeout=20)
    assert provider is not None


def test_an_unknown_provider_names_the_known_ones_and_the_nearest() -> None:
    providers = Providers({kind: settings(kind, None) for kind in KINDS})
    failed = refused(providers, "antropic")
    assert (failed.kind, failed.retryable) == (FailureType.PROVIDER_REFUSED, False)
    assert failed.message == (
        "this worker has no provider 'antropic'; allowed: anthropic, openai: "
        "did you mean 'anthropic'?"
    )


def test_an_unknown_kind_names_the_known_ones() -> None:
    failed = refused(Providers({"x": ProviderSettings("x", "gemini", api_key=KEY)}), "x")
    assert failed.message == (
        "provider 'x' has the unknown kind 'gemini'; allowed: anthropic, openai, scripted"
    )


@pytest.mark.parametrize("key", [None, "", "  \n"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_key_is_reported_by_its_name(kind: str, key: str | None) -> None:
    failed = refused(Providers({kind: settings(kind, None, key)}), kind)
    assert (failed.kind, failed.retryable) == (FailureType.MISSING_SECRET, False)
    assert failed.message == (
        f"{kind.upper()}_API_KEY is not set on the worker: export it, or choose another "
        "provider with --model"
    )


def test_a_missing_key_of_another_name_is_reported_by_that_name() -> None:
    mine = ProviderSettings("local", "openai", "http://127.0.0.1:1/v1", api_key_env="MY_KEY")
    failed = refused(Providers({"local": mine}), "local")
    assert failed.message.startswith("MY_KEY is not set on the worker")


@pytest.mark.parametrize(
    ("api_base", "api", "made"),
    [
        (None, None, OpenAIResponsesProvider),
        ("http://127.0.0.1:1/v1", None, OpenAIProvider),
        (None, "chat", OpenAIProvider),
        ("http://127.0.0.1:1/v1", "responses", OpenAIResponsesProvider),
    ],
)
async def test_openai_itself_is_asked_by_responses_and_other_servers_by_chat(
    api_base: str | None, api: Literal["responses", "chat"] | None, made: type
) -> None:
    own = ProviderSettings("openai", "openai", api_base, api_key=KEY, api=api)
    providers = Providers({"openai": own})
    assert type(providers.get("openai")) is made
    await providers.close()


async def test_a_server_of_ones_own_needs_no_key() -> None:
    async with raw_server(
        http('{"choices": [{"finish_reason": "stop", "message": {"content": "hi"}}]}')
    ) as server:
        providers = Providers({"local": ProviderSettings("local", "openai", server.url)})
        answer = await providers.get("local").complete(request())
        await providers.close()
    assert answer.text == "hi"


@pytest.mark.parametrize("kind", APIS)
async def test_blanks_around_a_key_do_not_matter(kind: str) -> None:
    async with raw_server(http("{}", status=404)) as server:
        providers = Providers({kind: settings(kind, server.url, f" {KEY}\n")})
        with pytest.raises(ProviderFailure):
            await providers.get(kind).complete(request())
        await providers.close()
    headers = server.requests[0].headers
    assert KEY in (headers.get("x-api-key"), headers.get("authorization", "").split(" ")[-1])


@pytest.mark.parametrize("key", ["sk-one sk-two", "sk-line\nbreak", "“sk-quoted”"])
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(key: str) -> None:
    failed = refused(Providers({"a": ProviderSettings("a", "anthropic", api_key=key)}), "a")
    assert failed.kind == FailureType.MISSING_SECRET
    assert "ANTHROPIC_API_KEY on the worker is not an API key" in failed.message
    assert "sk-" not in failed.message


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://host", "http://", "http://h:port", "http://h:0", "x"]
)
@pytest.mark.parametrize("kind", APIS)
def test_an_address_that_is_no_url_is_refused_at_once(kind: str, url: str) -> None:
    failed = refused(Providers({kind: settings(kind, url)}), kind)
    assert (failed.kind, failed.retryable) == (FailureType.PROVIDER_REFUSED, False)
    assert "must read like https://host/path" in failed.message


@pytest.mark.parametrize("kind", APIS)
async def test_a_key_is_in_no_error_no_trace_and_no_history(kind: str) -> None:
    echo = http(f'{{"error": {{"message": "bad key {KEY}"}}}}', status=401, x_echo=KEY)
    async with raw_server(echo) as server:
        failed = await failure(kind, server.url)
    error = to_application_error(failed)
    stored = Failure()
    DefaultFailureConverter().to_failure(error, default().payload_converter, stored)
    text = "".join(traceback.format_exception(failed)) + str(stored) + repr(error)
    assert "bad key ***" in text
    assert KEY not in text
    assert KEY not in repr(settings(kind, server.url))


@pytest.mark.parametrize(
    ("kind", "body"), [("openai", {"choices": KEY}), ("anthropic", {"type": KEY, "usage": KEY})]
)
async def test_a_key_in_an_answer_that_cannot_be_read_is_not_passed_on(
    kind: str, body: Json
) -> None:
    whole = json.dumps(body)
    answers = {"anthropic": f"event: message_start\ndata: {whole}\n\n", "openai": whole}
    async with raw_server(http(answers[kind])) as server:
        failed = await failure(kind, server.url)
    assert "sent an answer in a form that Coterie does not know" in failed.message
    assert KEY not in "".join(traceback.format_exception(failed))


async def test_the_scripted_provider_needs_no_key(tmp_path: Path) -> None:
    script = tmp_path / "answers.yml"
    script.write_text("answers: [{task: greet, answer: hello}]")
    own = ProviderSettings("scripted", "scripted", answers=str(script))
    answer = (
        await Providers({"scripted": own}).get("scripted").complete(request(label="t/greet#1.0"))
    )
    assert answer.text == "hello"


def test_the_scripted_provider_without_a_script_says_so() -> None:
    failed = refused(Providers({"s": ProviderSettings("s", "scripted")}), "s")
    assert failed.message == (
        "provider 's' has no script: set `answers` to its path, or `mock: schema` to make up "
        "answers by the schemas of personas"
    )
