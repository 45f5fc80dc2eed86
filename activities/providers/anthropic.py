"""Call Anthropic's Messages API through the official client. Translates, and nothing else.

The answer is streamed although it is returned whole: proxies and the API itself cut connections
that are silent for minutes, and a lost answer would be paid for again.
"""

import asyncio
from importlib.util import find_spec
from typing import Literal, TypedDict, cast

from anthropic import (
    AnthropicError,
    APIStatusError,
    AsyncAnthropic,
    DefaultAsyncHttpxClient,
    Timeout,
)
from anthropic.lib.bedrock import AsyncAnthropicBedrockMantle
from anthropic.lib.foundry import AsyncAnthropicFoundry
from anthropic.lib.vertex import AsyncAnthropicVertex
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from pydantic import BaseModel

from coterie.activities.contracts import FailureType
from coterie.activities.extra_packages import install_command
from coterie.activities.providers.bounded_answers import bounded
from coterie.activities.providers.http_statuses import from_status
from coterie.activities.providers.provider import Completion, ModelRequest, ProviderSettings
from coterie.activities.providers.provider_failures import Endpoint, ProviderFailure, cut, malformed
from coterie.activities.providers.translation.anthropic_answers import (
    AnthropicAnswer,
    AnthropicEvent,
)
from coterie.activities.providers.translation.anthropic_turns import anthropic_body
from coterie.activities.providers.translation.prepared_requests import prepared
from coterie.activities.providers.transport import TRANSPORT_ERRORS, from_transport
from coterie.dsl.model.model_options import Cloud

Client = AsyncAnthropic | AsyncAnthropicBedrockMantle | AsyncAnthropicVertex | AsyncAnthropicFoundry
"""Each has `messages.create` with the parameters of the Messages API."""

_CREDENTIAL_ERRORS = ("google.auth", "botocore")


class _Common(TypedDict):
    """The arguments that all clients share."""

    max_retries: int
    open_telemetry: Literal[False]
    http_client: DefaultAsyncHttpxClient


def open_client(settings: ProviderSettings) -> tuple[Endpoint, Client]:
    """Return the server that these settings name, and a client for it.

    Raises:
        ProviderFailure: The key is missing or malformed, the URL is unusable, or the machine's
            identity needs a package that is not installed.
    """
    region, project = settings.region or "", settings.project or ""
    endpoint = Endpoint.of(settings, _cloud_url(settings))
    url, key = endpoint.base_url, endpoint.key
    common = _Common(
        max_retries=0,
        open_telemetry=False,
        http_client=bounded(DefaultAsyncHttpxClient),
    )
    match settings.cloud:
        case None:
            client = AsyncAnthropic(api_key=key or "none", base_url=url, **common)
        case "bedrock":
            if key is None:
                _needs("boto3", "bedrock", settings)
            client = AsyncAnthropicBedrockMantle(
                api_key=key, aws_region=region, base_url=url, **common
            )
        case "vertex":
            if key is None:
                _needs("google.auth", "vertex", settings)
            client = AsyncAnthropicVertex(
                access_token=key, region=region, project_id=project, base_url=url, **common
            )
        case "foundry":
            client = AsyncAnthropicFoundry(api_key=key, base_url=url, **common)
    # The client has read more from the environment; only what the file declares counts.
    client._custom_headers = {**settings.headers}  # pyright: ignore[reportPrivateUsage]
    return endpoint, client


def without_identity(endpoint: Endpoint, error: Exception) -> ProviderFailure | None:
    """Return the failure of a machine that has no usable identity in the cloud, or None.

    The clients do not wrap errors of the clouds' own packages. Google's say themselves whether
    they may pass.
    """
    is_clouds = type(error).__module__.startswith(_CREDENTIAL_ERRORS)
    if not is_clouds and type(error) is not RuntimeError:  # the clients' own, for no credentials
        return None
    return ProviderFailure(
        FailureType.MISSING_SECRET,
        f"this machine has no usable identity for {endpoint.provider} "
        f"({endpoint.quote(str(error))}); sign in with the cloud's own tools, give the machine a "
        "role, or name a key by `api_key_env`",
        retryable=getattr(error, "retryable", False) is True,
    )


def _cloud_url(settings: ProviderSettings) -> str | None:
    region = settings.region
    match settings.cloud:
        case None | "foundry":  # a document cannot name Foundry without its address
            return None
        case "bedrock":
            return f"https://bedrock-mantle.{region}.api.aws/anthropic"
        case "vertex":
            match region:
                case "global":
                    return "https://aiplatform.googleapis.com/v1"
                case "us" | "eu":
                    return f"https://aiplatform.{region}.rep.googleapis.com/v1"
                case _:
                    return f"https://{region}-aiplatform.googleapis.com/v1"


def _needs(package: str, cloud: Cloud, settings: ProviderSettings) -> None:
    """Refuse a provider whose identity nothing here can find."""
    try:
        is_there = find_spec(package) is not None
    except ModuleNotFoundError:  # of the parent package
        is_there = False
    if not is_there:
        raise ProviderFailure(
            FailureType.PROVIDER_REFUSED,
            f"provider {settings.name!r} has no `api_key_env`, and finding the machine's identity "
            f"for {cloud} needs a package: {install_command(cloud)}",
            retryable=False,
        )


_CONNECT_SECONDS = 10.0


class AnthropicProvider:
    """Claude at Anthropic or in a cloud, or a server with the Messages API at `api_base`."""

    def __init__(self, settings: ProviderSettings) -> None:
        self._settings = settings
        self._endpoint, self._client = open_client(settings)

    async def complete(self, request: ModelRequest) -> Completion:
        """Send the conversation, and return the answer.

        Raises:
            ProviderFailure: No answer; says whether and when to retry.
        """
        request = prepared(request, self._settings)
        answer = AnthropicAnswer(cached_for_an_hour=request.prompt_cache == "1h")
        try:
            async with asyncio.timeout(request.timeout):
                await self._stream(request, answer)
        except APIStatusError as error:
            failure = from_status(
                self._endpoint, request, error.status_code, error.response.headers, error.body
            )
            raise answer.counted(failure) from None
        except (AnthropicError, *TRANSPORT_ERRORS) as error:
            raise answer.counted(from_transport(self._endpoint, request, error)) from None
        except Exception as error:
            if (failure := without_identity(self._endpoint, error)) is None:
                raise
            raise failure from None
        if not answer.begun:
            raise malformed(self._endpoint, "it contains no message event")
        if answer.stop_reason is None:
            raise cut(self._endpoint, answer.usage)
        return answer.completion(request, self._endpoint.provider)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _stream(self, request: ModelRequest, answer: AnthropicAnswer) -> None:
        stream = await self._client.messages.create(
            **self._parameters(request),
            extra_body=_sampling(request),
            timeout=Timeout(request.timeout, connect=min(request.timeout, _CONNECT_SECONDS)),
        )
        async with stream:
            async for event in stream:
                piece = answer.take(_event(event))
                if piece and request.on_text is not None:
                    request.on_text(piece)

    def _parameters(self, request: ModelRequest) -> MessageCreateParamsStreaming:
        body = anthropic_body(request, self._settings)
        body |= {"model": request.model, "max_tokens": request.max_tokens, "stream": True}
        return cast("MessageCreateParamsStreaming", body)


def _event(event: BaseModel) -> AnthropicEvent:
    """Validate what the client received, which the client itself does not."""
    if not isinstance(event, BaseModel):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError("an event of the stream is not an object")
    return AnthropicEvent.model_validate(
        event.model_dump(mode="json", exclude_unset=True, warnings=False)
    )


def _sampling(request: ModelRequest) -> dict[str, float]:
    """Return only the parameters that are set: newer models refuse them."""
    set_by_persona = {"temperature": request.temperature, "top_p": request.top_p}
    return {name: value for name, value in set_by_persona.items() if value is not None}
