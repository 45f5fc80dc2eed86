"""Call OpenAI's Chat Completions API through the official client. Translates, and nothing else.

Every compatible server implements Chat Completions, unlike Responses. The answer is not streamed,
because not every server reports usage in a stream.
"""

import asyncio
from urllib.parse import urlsplit

from openai import APIStatusError, AsyncOpenAI, Omit, OpenAIError, Timeout, omit
from openai.types.chat import ChatCompletionMessageParam
from openai.types.shared_params import ResponseFormatJSONSchema
from pydantic import BaseModel, JsonValue

from activities.contracts import StopReason, TokenUsage
from activities.providers.http_statuses import from_status
from activities.providers.provider import Completion, ModelMessage, ModelRequest, ProviderSettings
from activities.providers.provider_failures import Endpoint, cut, malformed
from activities.providers.schemas import in_words, requires_every_key, strict_schema
from activities.providers.transport import TRANSPORT_ERRORS, from_transport

_STOP_REASONS: dict[str, StopReason] = {
    "stop": "end",
    "length": "max_tokens",
    "content_filter": "refusal",
}
_OWN_HOSTS = (".openai.com", ".openai.azure.com")
_CONNECT_SECONDS = 10.0


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
        try:
            async with asyncio.timeout(request.timeout):
                answer = await self._create(request)
        except APIStatusError as error:
            raise from_status(
                self._endpoint, request, error.status_code, error.response.headers, error.body
            ) from None
        except (OpenAIError, *TRANSPORT_ERRORS) as error:
            raise from_transport(self._endpoint, request, error) from None
        if answer.error is not None:  # how gateways report an error of the server behind them
            raise from_status(self._endpoint, request, 200, {}, {"error": answer.error})
        if not answer.choices:
            raise malformed(self._endpoint, "it contains no choices")
        if answer.choices[0].finish_reason is None:
            raise cut(self._endpoint, _counted(answer))
        return _completion(request, answer, answer.choices[0])

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _create(self, request: ModelRequest) -> "_Answer":
        system, response_format = _structured(request)
        # All compatible servers know the older name; OpenAI's own reasoning models refuse it.
        older, newer = (omit, request.max_tokens) if self._own else (request.max_tokens, omit)
        raw = await self._client.chat.completions.with_raw_response.create(
            model=request.model,
            messages=_messages(system, request.messages),
            max_tokens=older,
            max_completion_tokens=newer,
            temperature=omit if request.temperature is None else request.temperature,
            top_p=omit if request.top_p is None else request.top_p,
            response_format=response_format,
            timeout=Timeout(request.timeout, connect=min(request.timeout, _CONNECT_SECONDS)),
        )
        return _Answer.model_validate_json(raw.content)


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


class _Details(BaseModel):
    cached_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Answer(BaseModel):
    """The fields of the answer that we use, validated because servers differ."""

    model: str | None = None
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: JsonValue = None


def _counted(answer: _Answer) -> TokenUsage:
    """Return the usage, with cached tokens in the input count; zeros if the server reports none."""
    usage = answer.usage or _Usage()
    return TokenUsage(
        input_tokens=usage.prompt_tokens or 0,
        output_tokens=usage.completion_tokens or 0,
        cached_tokens=(usage.prompt_tokens_details or _Details()).cached_tokens or 0,
    )


def _completion(request: ModelRequest, answer: _Answer, choice: _Choice) -> Completion:
    refused = choice.message.refusal
    stop_reason = _STOP_REASONS.get(choice.finish_reason or "", "other")
    return Completion(
        text=refused or choice.message.content or "",
        stop_reason="refusal" if refused else stop_reason,
        model=answer.model or request.model,
        usage=_counted(answer),
    )
