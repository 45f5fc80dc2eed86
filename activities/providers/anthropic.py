"""Call Anthropic's Messages API through the official client. Translates, and nothing else.

The answer is streamed although it is returned whole: proxies and the API itself cut connections
that are silent for minutes, and a lost answer would be paid for again.
"""

import asyncio
from typing import cast

from anthropic import AnthropicError, APIStatusError, Timeout
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from pydantic import BaseModel

from coterie.activities.providers.anthropic_clients import open_client, without_identity
from coterie.activities.providers.http_statuses import from_status
from coterie.activities.providers.provider import Completion, ModelRequest, ProviderSettings
from coterie.activities.providers.provider_failures import cut, malformed
from coterie.activities.providers.translation.anthropic_answers import (
    AnthropicAnswer,
    AnthropicEvent,
)
from coterie.activities.providers.translation.anthropic_turns import anthropic_body
from coterie.activities.providers.translation.prepared_requests import prepared
from coterie.activities.providers.transport import TRANSPORT_ERRORS, from_transport

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
