"""Call OpenAI's Chat Completions API through the official client. Translates, and nothing else.

Every compatible server implements Chat Completions, unlike Responses. The answer is streamed only
if somebody watches, because not every server reports usage in a stream.
"""

import asyncio
from collections.abc import Callable
from typing import TypedDict
from urllib.parse import urlsplit

from openai import APIError, APIStatusError, AsyncOpenAI, Omit, OpenAIError, Timeout, omit
from openai.types.chat import ChatCompletionMessageParam
from openai.types.shared_params import ResponseFormatJSONSchema

from activities.providers.http_statuses import from_status
from activities.providers.message_model import ModelMessage
from activities.providers.openai_answers import ChatAnswer, ChatChunk, ChatParts
from activities.providers.provider import Completion, ModelRequest, ProviderSettings
from activities.providers.provider_failures import Endpoint, ProviderFailure, cut, malformed
from activities.providers.schemas import in_words, requires_every_key, strict_schema
from activities.providers.transport import TRANSPORT_ERRORS, from_transport

_OWN_HOSTS = (".openai.com", ".openai.azure.com")
_CONNECT_SECONDS = 10.0


class _Parameters(TypedDict):
    model: str
    messages: list[ChatCompletionMessageParam]
    max_tokens: int | Omit
    max_completion_tokens: int | Omit
    temperature: float | Omit
    top_p: float | Omit
    response_format: ResponseFormatJSONSchema | Omit
    timeout: Timeout


class OpenAIProvider:
    """GPT, or any server that implements Chat Completions at `api_base`."""

    def __init__(self, settings: ProviderSettings) -> None:
        self._endpoint = Endpoint.of(
            settings, default_url="https://api.openai.com/v1", default_env="OPENAI_API_KEY"
        )
        host = urlsplit(self._endpoint.base_url).hostname or ""
        self._own = host.endswith(_OWN_HOSTS)
        self._client = AsyncOpenAI(
            api_key=self._endpoint.key or "none",
            base_url=self._endpoint.base_url,
            max_retries=0,
        )

    async def complete(self, request: ModelRequest) -> Completion:
        """Send one conversation, and return the answer.

        Raises:
            ProviderFailure: No answer; says whether and when to retry.
        """
        parts = ChatParts()
        try:
            async with asyncio.timeout(request.timeout):
                if request.on_text is None:
                    answer = await self._create(request)
                else:
                    answer = await self._stream(request, parts, request.on_text)
        except (OpenAIError, *TRANSPORT_ERRORS) as error:
            failure = self._failure(request, error)
            if parts.begun:  # an answer that started is paid for
                failure.usage = parts.answer().counted
            raise failure from None
        if answer.error is not None:  # how gateways report an error of the server behind them
            raise from_status(self._endpoint, request, 200, {}, {"error": answer.error})
        if not answer.choices:
            raise malformed(self._endpoint, "it contains no choices")
        if answer.choices[0].finish_reason is None:
            raise cut(self._endpoint, answer.counted)
        return answer.completion(request, answer.choices[0])

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _failure(self, request: ModelRequest, error: Exception) -> ProviderFailure:
        match error:
            case APIStatusError():
                status, headers = error.status_code, error.response.headers
                return from_status(self._endpoint, request, status, headers, error.body)
            case APIError(body=body) if body is not None:  # an event of a stream
                return from_status(self._endpoint, request, 200, {}, {"error": body})
            case _:
                return from_transport(self._endpoint, request, error)

    async def _create(self, request: ModelRequest) -> ChatAnswer:
        completions = self._client.chat.completions.with_raw_response
        raw = await completions.create(**self._parameters(request))
        return ChatAnswer.model_validate_json(raw.content)

    async def _stream(
        self, request: ModelRequest, parts: ChatParts, on_text: Callable[[str], None]
    ) -> ChatAnswer:
        stream = await self._client.chat.completions.create(
            **self._parameters(request), stream=True, stream_options={"include_usage": True}
        )
        async with stream:
            async for chunk in stream:
                piece = parts.take(ChatChunk.model_validate(chunk, from_attributes=True))
                if piece:
                    on_text(piece)
        return parts.answer()

    def _parameters(self, request: ModelRequest) -> _Parameters:
        system, response_format = _structured(request)
        # All compatible servers know the older name; OpenAI's own reasoning models refuse it.
        older, newer = (omit, request.max_tokens) if self._own else (request.max_tokens, omit)
        return {
            "model": request.model,
            "messages": _messages(system, request.messages),
            "max_tokens": older,
            "max_completion_tokens": newer,
            "temperature": omit if request.temperature is None else request.temperature,
            "top_p": omit if request.top_p is None else request.top_p,
            "response_format": response_format,
            "timeout": Timeout(request.timeout, connect=min(request.timeout, _CONNECT_SECONDS)),
        }


def _messages(
    system: str | None, messages: tuple[ModelMessage, ...]
) -> list[ChatCompletionMessageParam]:
    turns = [_turn(message) for message in messages]
    return turns if system is None else [{"role": "system", "content": system}, *turns]


def _turn(message: ModelMessage) -> ChatCompletionMessageParam:
    match message.role:
        case "user":
            return {"role": "user", "content": message.text}
        case "assistant":
            return {"role": "assistant", "content": message.text}


def _structured(request: ModelRequest) -> tuple[str | None, ResponseFormatJSONSchema | Omit]:
    """Return the system prompt and the response format; one of the two carries the schema.

    Use strict mode only if every key is required, as it demands: to require more keys than the
    persona's schema does would make the model invent values.
    """
    schema = request.output_schema
    if schema is None:
        return request.system, omit
    if schema.get("type") != "object":  # the API accepts only objects at the root
        words = in_words(schema)
        return (f"{request.system}\n\n{words}" if request.system else words), omit
    narrowed = strict_schema(schema)
    strict = narrowed is not None and requires_every_key(narrowed)
    return request.system, {
        "type": "json_schema",
        "json_schema": {
            "name": "answer",
            "schema": dict(narrowed if narrowed is not None and strict else schema),
            "strict": strict,
        },
    }
