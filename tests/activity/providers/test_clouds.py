"""Claude in a cloud: the official clients reach each cloud's address with the identity it wants."""

from dataclasses import replace

import pytest

from coterie.activities.contracts import FailureType
from coterie.activities.extra_packages import install_command
from coterie.activities.providers import anthropic
from coterie.activities.providers.anthropic import open_client
from coterie.activities.providers.provider import ProviderSettings
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.provider_registry import Providers
from coterie.dsl.model.model_options import Cloud
from coterie.dsl.values import Json
from tests.support.servers.asking import KEY, request
from tests.support.servers.raw_server import RawServer, events, http, raw_server

ANSWER = events(
    {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 11}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "Hello."},
    },
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 3},
    },
    {"type": "message_stop"},
)
STREAM = http(ANSWER, kind="text/event-stream")


def in_cloud(cloud: Cloud, url: str | None = None, key: str | None = KEY) -> ProviderSettings:
    return ProviderSettings(
        "mine", "anthropic", url, key, "MY_KEY" if key else None, cloud=cloud, region="eu-west-1"
    )


async def asked(settings: ProviderSettings) -> str:
    providers = Providers({"mine": settings})
    try:
        return (await providers.get("mine").complete(request(model="claude-x"))).text
    finally:
        await providers.close()


def sent(server: RawServer) -> tuple[str, Json, str]:
    """The path, the body and the identity of the only request."""
    (one,) = server.requests
    headers = one.headers
    identity = headers.get("authorization") or headers.get("api-key") or headers.get("x-api-key")
    return one.path, one.body, identity or ""


async def test_bedrock_gets_the_messages_api_with_its_key() -> None:
    async with raw_server(STREAM) as server:
        assert await asked(in_cloud("bedrock", server.url)) == "Hello."
    path, body, identity = sent(server)
    assert (path, body["model"], identity) == ("/v1/messages", "claude-x", f"Bearer {KEY}")


async def test_bedrock_without_a_key_is_signed_with_the_machine_s_identity(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not-a-real-secret")
    async with raw_server(STREAM) as server:
        assert await asked(in_cloud("bedrock", server.url, key=None)) == "Hello."
    identity = sent(server)[2]
    assert identity.startswith("AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/")
    assert "/eu-west-1/bedrock-mantle/aws4_request" in identity


async def test_vertex_gets_the_model_in_the_address_and_a_token() -> None:
    async with raw_server(STREAM) as server:
        settings = replace(in_cloud("vertex", server.url), project="my-project")
        assert await asked(settings) == "Hello."
    path, body, identity = sent(server)
    assert path == (
        "/projects/my-project/locations/eu-west-1/publishers/anthropic/models/"
        "claude-x:streamRawPredict"
    )
    assert "model" not in body
    assert identity == f"Bearer {KEY}"


async def test_foundry_gets_its_key_at_the_address_of_the_resource() -> None:
    async with raw_server(STREAM) as server:
        assert await asked(in_cloud("foundry", server.url)) == "Hello."
    path, body, identity = sent(server)
    assert (path, body["model"], identity) == ("/v1/messages", "claude-x", KEY)


@pytest.mark.parametrize(
    ("cloud", "region", "address"),
    [
        (None, "", "https://api.anthropic.com"),
        ("bedrock", "eu-west-1", "https://bedrock-mantle.eu-west-1.api.aws/anthropic"),
        ("vertex", "europe-west1", "https://europe-west1-aiplatform.googleapis.com/v1"),
        ("vertex", "global", "https://aiplatform.googleapis.com/v1"),
        ("vertex", "eu", "https://aiplatform.eu.rep.googleapis.com/v1"),
    ],
)
def test_a_cloud_and_its_region_give_the_same_address_as_the_client_s_own(
    cloud: Cloud | None, region: str, address: str
) -> None:
    settings = replace(in_cloud("vertex"), cloud=cloud, region=region, project="p")
    endpoint, client = open_client(settings)
    assert (endpoint.address, str(client.base_url).rstrip("/")) == (address, address)


@pytest.mark.parametrize(
    ("cloud", "variable"),
    [
        ("bedrock", "AWS_SHARED_CREDENTIALS_FILE"),
        ("vertex", "GOOGLE_APPLICATION_CREDENTIALS"),
    ],
)
async def test_a_machine_without_an_identity_is_a_failure_that_says_so(
    cloud: Cloud, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv(variable, "/nonexistent")
    async with raw_server(STREAM) as server:
        # Another region than elsewhere: the client keeps a session for each.
        settings = replace(in_cloud(cloud, server.url, key=None), project="p", region="us")
        with pytest.raises(ProviderFailure) as caught:
            await asked(settings)
    assert (caught.value.kind, caught.value.retryable) == (FailureType.MISSING_SECRET, False)
    assert caught.value.message.startswith("this machine has no usable identity for mine (")
    assert server.requests == []


@pytest.mark.parametrize("cloud", ["bedrock", "vertex"])
def test_a_missing_package_is_named_before_any_call(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anthropic, "find_spec", lambda name: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    settings = replace(in_cloud(cloud, key=None), project="p")
    with pytest.raises(ProviderFailure) as caught:
        open_client(settings)
    assert caught.value.message == (
        "provider 'mine' has no `api_key_env`, and finding the machine's identity for "
        f"{cloud} needs a package: {install_command(cloud)}"
    )


@pytest.mark.parametrize("cloud", [None, "bedrock", "vertex", "foundry"])
def test_no_client_retries_by_itself(cloud: Cloud | None) -> None:
    """Only Temporal does, which counts and pays for each attempt."""
    settings = replace(in_cloud("vertex", "https://there"), cloud=cloud, project="p")
    _, client = open_client(settings)
    assert client.max_retries == 0


def test_a_key_that_a_cloud_should_have_and_that_is_not_set_is_named() -> None:
    with pytest.raises(ProviderFailure) as caught:
        open_client(replace(in_cloud("bedrock"), api_key=None))
    assert caught.value.message.startswith("MY_KEY is not set on the worker")
