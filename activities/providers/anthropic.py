"""Call Anthropic's Messages API through the official client. Translates, and nothing else.

The answer is streamed although it is returned whole: proxies and the API itself cut connections
that are silent for minutes, and a lost answer would be paid for again.
"""

import asyncio

from anthropic import AnthropicError, APIStatusError, AsyncAnthropic, Omit, Timeout, omit
from anthropic.types import MessageParam, OutputConfigParam
from pydantic import BaseModel, ConfigDict

from activities.contracts import StopReason, TokenUsage
from activities.providers.http_statuses import from_status
from activities.providers.message_model import ModelMessage
from activities.providers.provider import Completion, ModelRequest, ProviderSettings
from activities.providers.provider_failures import Endpoint, ProviderFailure, cut, malformed
from activities.providers.schemas import in_words, strict_schema
from activities.providers.transport import TRANSPORT_ERRORS, from_transport

_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}
_CONNECT_SECONDS = 10.0


class AnthropicProvider:
    """Claude, or a server that implements the Messages API at `api_base`."""

    def __init__(self, settings: ProviderSettings) -> None:
        self._endpoint = Endpoint.of(
            settings, default_url="https://api.anthropic.com", default_env="ANTHROPIC_API_KEY"
        )
        self._client = AsyncAnthropic(
            api_key=self._endpoint.key or "none",
            base_url=self._endpoint.base_url,
            max_retries=0,
            open_telemetry=False,
        )

    async def complete(self, request: ModelRequest) -> Completion:
        """Send one message, and return the answer.

        Raises:
            ProviderFailure: No answer; says whether and when to retry.
        """
        answer = _Answer()
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
        if not answer.begun:
            raise malformed(self._endpoint, "it contains no message event")
        if answer.stop_reason is None:
            raise cut(self._endpoint, answer.usage)
        return answer.completion(request)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _stream(self, request: ModelRequest, answer: "_Answer") -> None:
        system, output = _structured(request)
        messages: list[MessageParam] = [_turn(message) for message in request.messages]
        stream = await self._client.messages.create(
            model=request.model,
            messages=messages,
            system=omit if system is None else system,
            max_tokens=request.max_tokens,
            output_config=output,
            extra_body=_sampling(request),
            timeout=Timeout(request.timeout, connect=min(request.timeout, _CONNECT_SECONDS)),
            stream=True,
        )
        async with stream:
            async for event in stream:
                piece = answer.take(_Event.model_validate(event))
                if piece and request.on_text is not None:
                    request.on_text(piece)


def _turn(message: ModelMessage) -> MessageParam:
    match message.role:
        case "user":
            return {"role": "user", "content": message.text}
        case "assistant":
            return {"role": "assistant", "content": message.text}


def _sampling(request: ModelRequest) -> dict[str, float]:
    """Return only the parameters that are set: newer models refuse them."""
    set_by_persona = {"temperature": request.temperature, "top_p": request.top_p}
    return {name: value for name, value in set_by_persona.items() if value is not None}


def _structured(request: ModelRequest) -> tuple[str | None, OutputConfigParam | Omit]:
    """Return the system prompt and the output format; one of the two carries the schema."""
    if request.output_schema is None:
        return request.system, omit
    strict = strict_schema(request.output_schema)
    if strict is None:
        words = in_words(request.output_schema)
        return (f"{request.system}\n\n{words}" if request.system else words), omit
    return request.system, {"format": {"type": "json_schema", "schema": dict(strict)}}


class _Read(BaseModel):
    """Validates what the client received, which the client itself does not."""

    model_config = ConfigDict(from_attributes=True)


class _Usage(_Read):
    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None


class _Message(_Read):
    model: str | None = None
    usage: _Usage | None = None


class _Delta(_Read):
    text: str | None = None
    stop_reason: str | None = None


class _Event(_Read):
    type: str
    message: _Message | None = None
    content_block: _Delta | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None


class _Answer:
    """The parts of a message received so far."""

    def __init__(self) -> None:
        self.begun = False
        self.stop_reason: str | None = None
        self._model: str | None = None
        self._text: list[str] = []
        self._usage: dict[str, int] = {}

    def take(self, event: _Event) -> str:
        """Add one event, and return its text.

        Counts are running totals, so later ones replace earlier ones.
        """
        piece = ""
        if event.message is not None:
            self.begun = True
            self._model = event.message.model
        for part in (event.content_block, event.delta):
            if part is not None:
                piece += part.text or ""
                self.stop_reason = part.stop_reason or self.stop_reason
        for usage in (event.message and event.message.usage, event.usage):
            if usage is not None:
                self._usage.update(usage.model_dump(exclude_none=True))
        self._text.append(piece)
        return piece

    @property
    def usage(self) -> TokenUsage:
        """The usage so far. The API counts cached input separately; it is included here."""
        cached = self._usage.get("cache_read_input_tokens", 0)
        written = self._usage.get("cache_creation_input_tokens", 0)
        return TokenUsage(
            input_tokens=self._usage.get("input_tokens", 0) + cached + written,
            output_tokens=self._usage.get("output_tokens", 0),
            cached_tokens=cached,
        )

    def counted(self, failure: ProviderFailure) -> ProviderFailure:
        """Add the usage so far to a failure: a message that started is paid for."""
        if self.begun:
            failure.usage = self.usage
        return failure

    def completion(self, request: ModelRequest) -> Completion:
        """Return the whole answer."""
        return Completion.of(
            text="".join(self._text),
            stop_reason=_STOP_REASONS.get(self.stop_reason or "", "other"),
            model=self._model or request.model,
            usage=self.usage,
        )
