"""Call OpenAI's Responses API through the official client. Translates, and nothing else.

The answer is always streamed: proxies cut connections that are silent for minutes, and a lost
answer would be paid for again. The vendor stores nothing.
"""

import asyncio
from typing import cast

from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import BaseModel

from coterie.activities.contracts import TokenUsage
from coterie.activities.providers.batches.openai_batches import OpenAIBatchProvider
from coterie.activities.providers.openai_client import OPENAI_ERRORS, timeout_of
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.providers.provider_failures import cut, malformed, unreadable
from coterie.activities.providers.translation.prepared_requests import prepared
from coterie.activities.providers.translation.responses_answers import (
    ResponsesAnswer,
    ResponsesEvent,
)
from coterie.activities.providers.translation.responses_turns import responses_body
from coterie.dsl.values import Json

_ENDS = ("response.completed", "response.incomplete", "response.failed")


class OpenAIResponsesProvider(OpenAIBatchProvider[ResponsesAnswer]):
    """GPT, or a server that implements the Responses API at `api_base`."""

    url = "/v1/responses"
    answer_type = ResponsesAnswer

    async def complete(self, request: ModelRequest) -> Completion:
        """Send one conversation, and return the answer.

        Raises:
            ProviderFailure: No answer; says whether and when to retry.
        """
        request = prepared(request, self._access.settings)
        try:
            async with asyncio.timeout(request.timeout):
                last = await self._stream(request)
        except OPENAI_ERRORS as error:
            raise self._access.failure(request, error) from None
        if last is None:
            raise malformed(self._access.endpoint, "it contains no event")
        if last.type == "error":
            details = {"code": last.code, "message": last.message}
            raise self._access.reported(request, details)
        if last.type not in _ENDS:
            raise cut(self._access.endpoint)
        answer = last.response
        if answer is None:
            raise unreadable(self._access.endpoint, "its last event contains no response")
        return self._completion(request, answer)

    def _parameters(self, request: ModelRequest) -> Json:
        return responses_body(request, self._access.settings)

    def _completion(self, request: ModelRequest, answer: ResponsesAnswer) -> Completion:
        if answer.status not in ("completed", "incomplete"):
            failure = self._access.reported(request, answer.error)
            failure.usage = answer.counted if answer.counted != TokenUsage() else None
            raise failure
        return answer.completion(request, self._access.endpoint.provider)

    async def _stream(self, request: ModelRequest) -> ResponsesEvent | None:
        """Return the last event, which ends a whole answer; None if there is none."""
        body = self._parameters(request) | {"stream": True}
        stream = await self._access.client.responses.create(
            **cast("ResponseCreateParamsStreaming", body), timeout=timeout_of(request)
        )
        last = None
        async with stream:
            async for event in stream:
                last = _event(event)
                if last.text and request.on_text is not None:
                    request.on_text(last.text)
                if last.type in _ENDS or last.type == "error":
                    break
        return last


def _event(event: BaseModel) -> ResponsesEvent:
    """Validate what the client received, which the client itself does not."""
    if not isinstance(event, BaseModel):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError("an event of the stream is not an object")
    return ResponsesEvent.model_validate(
        event.model_dump(mode="json", exclude_unset=True, warnings=False)
    )
