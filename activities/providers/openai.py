"""Call OpenAI's Chat Completions API through the official client. Translates, and nothing else.

Every compatible server implements Chat Completions, unlike Responses. The answer is streamed only
if somebody watches, because not every server reports usage in a stream.
"""

import asyncio
from collections.abc import Callable
from typing import cast

from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from pydantic import BaseModel, ValidationError

from coterie.activities.providers.batches.openai_batches import OpenAIBatchProvider
from coterie.activities.providers.openai_client import OPENAI_ERRORS, timeout_of
from coterie.activities.providers.provider import Completion, ModelRequest, ProviderSettings
from coterie.activities.providers.provider_failures import cut, malformed, unreadable
from coterie.activities.providers.translation.chat_answers import (
    ChatAnswer,
    ChatChunk,
    ChatParts,
    counted_in,
)
from coterie.activities.providers.translation.chat_turns import chat_messages, chat_tools
from coterie.activities.providers.translation.output_schemas import openai_format
from coterie.activities.providers.translation.prepared_requests import prepared
from coterie.activities.providers.translation.wire_values import cache_key
from coterie.dsl.values import Json


class OpenAIProvider(OpenAIBatchProvider[ChatAnswer]):
    """GPT, or any server that implements Chat Completions at `api_base`."""

    url = "/v1/chat/completions"
    answer_type = ChatAnswer

    async def complete(self, request: ModelRequest) -> Completion:
        """Send one conversation, and return the answer.

        Raises:
            ProviderFailure: No answer; says whether and when to retry.
        """
        request = prepared(request, self._access.settings)
        parts = ChatParts()
        try:
            async with asyncio.timeout(request.timeout):
                if request.on_text is None:
                    answer = await self._create(request)
                else:
                    answer = await self._stream(request, parts, request.on_text)
        except OPENAI_ERRORS as error:
            failure = self._access.failure(request, error)
            if parts.begun:  # an answer that started is paid for
                failure.usage = parts.answer().counted
            raise failure from None
        return self._completion(request, answer)

    def _completion(self, request: ModelRequest, answer: ChatAnswer) -> Completion:
        endpoint = self._access.endpoint
        if answer.error is not None:  # how gateways report an error of the server behind them
            raise self._access.reported(request, answer.error)
        if not answer.choices:
            raise unreadable(endpoint, "it contains no choices", answer.counted)
        if answer.choices[0].finish_reason is None:
            raise cut(endpoint, answer.counted)
        return answer.completion(request, answer.choices[0], endpoint.provider)

    async def _create(self, request: ModelRequest) -> ChatAnswer:
        completions = self._access.client.chat.completions.with_raw_response
        parameters = cast("CompletionCreateParamsNonStreaming", self._parameters(request))
        raw = await completions.create(**parameters, timeout=timeout_of(request))
        try:
            return ChatAnswer.model_validate_json(raw.content)
        except ValidationError as error:
            failure = self._access.failure(request, error)
            failure.usage = counted_in(raw.content)
            raise failure from None

    async def _stream(
        self, request: ModelRequest, parts: ChatParts, on_text: Callable[[str], None]
    ) -> ChatAnswer:
        streamed = {"stream": True, "stream_options": {"include_usage": True}}
        parameters = cast(
            "CompletionCreateParamsStreaming", {**self._parameters(request), **streamed}
        )
        stream = await self._access.client.chat.completions.create(
            **parameters, timeout=timeout_of(request)
        )
        async with stream:
            async for chunk in stream:
                piece = parts.take(_chunk(chunk))
                if piece:
                    on_text(piece)
        if not parts.begun:
            raise malformed(self._access.endpoint, "it contains no event")
        return parts.answer()

    def _parameters(self, request: ModelRequest) -> Json:
        system, response_format = _structured_output(request, self._access.settings)
        # All compatible servers know the older name; OpenAI's own reasoning models refuse it.
        limit = "max_completion_tokens" if self._access.is_own else "max_tokens"
        parameters: Json = {
            "model": request.model,
            "messages": chat_messages(request, system, self._access.endpoint.provider),
            **chat_tools(request),
            limit: request.max_tokens,
            "temperature": request.temperature,
            "top_p": request.top_p,
            "response_format": response_format,
            "reasoning_effort": request.effort,
        }
        if self._access.is_own and request.prompt_cache != "off":
            parameters["prompt_cache_key"] = cache_key(request)
        return {key: value for key, value in parameters.items() if value is not None}


def _structured_output(
    request: ModelRequest, settings: ProviderSettings
) -> tuple[str | None, Json | None]:
    """Return the system prompt and the response format; one of the two carries the schema."""
    system, described = openai_format(request, settings)
    if described is None:
        return system, None
    return system, {"type": "json_schema", "json_schema": described}


def _chunk(event: BaseModel) -> ChatChunk:
    """Validate what the client received, which the client itself does not."""
    if not isinstance(event, BaseModel):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError("an event of the stream is not an object")
    return ChatChunk.model_validate(event.model_dump(mode="json", warnings=False))
