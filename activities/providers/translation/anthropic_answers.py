"""Read an answer of Anthropic's Messages API, event by event. Pure; knows no SDK."""

import json

from pydantic import BaseModel, JsonValue

from coterie.activities.contracts import StopReason, TokenUsage
from coterie.activities.providers.message_model import (
    OpaquePart,
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.dsl.values import Json

_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "end",  # decided by whether there are calls
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}


class _CacheCreation(BaseModel):
    ephemeral_1h_input_tokens: int | None = None


class _Usage(BaseModel):
    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: _CacheCreation | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None


class _Message(BaseModel):
    model: str | None = None
    usage: _Usage | None = None


class _Delta(BaseModel):
    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    citation: JsonValue = None
    stop_reason: str | None = None


class AnthropicEvent(BaseModel):
    """One event of a streamed answer: the fields that we use."""

    type: str
    index: int = 0
    message: _Message | None = None
    content_block: Json | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None


class _Block:
    """One block of the answer, as received so far."""

    def __init__(self, block: Json) -> None:
        self.block = block
        self._json: list[str] = []

    def take(self, delta: _Delta) -> None:
        """Add a piece."""
        for key, piece in (("text", delta.text), ("thinking", delta.thinking)):
            if piece:
                self.block[key] = f"{self.block.get(key) or ''}{piece}"
        if delta.signature is not None:
            self.block["signature"] = delta.signature
        if delta.citation is not None:
            citations = self.block.get("citations")
            self.block["citations"] = [
                *(citations if isinstance(citations, list) else ()),
                delta.citation,
            ]
        self._json.append(delta.partial_json or "")

    def part(self, provider: str, model: str) -> Part | None:
        """Return the block as a part of a message; None for an empty text."""
        block: Json = {key: value for key, value in self.block.items() if value is not None}
        match block:
            case {"type": "text", **rest}:
                text = str(rest.pop("text", ""))
                return TextPart(text, {provider: rest} if rest else None) if text else None
            case {"type": "tool_use", "id": str(call), "name": str(name), **rest}:
                call_input = rest.pop("input", None)
                extra = {provider: rest} if rest else None
                return ToolCallPart(call, name, self._arguments(call_input), extra)
            case {"type": "thinking" | "redacted_thinking"}:
                return ThinkingPart(provider, model, block)
            case _:
                if any(self._json):
                    block["input"] = _read(self._arguments(None))
                return OpaquePart(provider, block)

    def _arguments(self, call_input: JsonValue) -> str:
        """Return the arguments as the model wrote them; those of a call without any are empty."""
        return "".join(self._json) or json.dumps(call_input or {}, ensure_ascii=False)


class AnthropicAnswer:
    """The parts of a message received so far."""

    def __init__(self, *, cached_for_an_hour: bool = False) -> None:
        """Begin an answer.

        Args:
            cached_for_an_hour: Whether its input is cached for an hour, if the server does not say.
        """
        self._cached_for_an_hour = cached_for_an_hour
        self._hour_writes: int | None = None
        self.begun = False
        self.stop_reason: str | None = None
        self._model: str | None = None
        self._blocks: dict[int, _Block] = {}
        self._usage: dict[str, int] = {}

    def take(self, event: AnthropicEvent) -> str:
        """Add one event, and return its text.

        Counts are running totals, so later ones replace earlier ones.
        """
        piece = ""
        if event.message is not None:
            self.begun = True
            self._model = event.message.model
        if event.content_block is not None:
            self._blocks[event.index] = _Block({**event.content_block})
            if event.content_block.get("type") == "text":
                piece += str(event.content_block.get("text") or "")
        if event.delta is not None:
            piece += event.delta.text or ""
            self.stop_reason = event.delta.stop_reason or self.stop_reason
            if event.type == "content_block_delta":
                self._blocks.setdefault(event.index, _Block({"type": "text"})).take(event.delta)
        for usage in (event.message and event.message.usage, event.usage):
            if usage is not None:
                plain = usage.model_dump(exclude_none=True, exclude={"cache_creation"})
                self._usage.update(plain)
                if usage.cache_creation is not None:
                    self._hour_writes = usage.cache_creation.ephemeral_1h_input_tokens or 0
        return piece

    @property
    def usage(self) -> TokenUsage:
        """The usage so far. The API counts cached input separately; it is included here."""
        cached = self._usage.get("cache_read_input_tokens", 0)
        cache_writes = self._usage.get("cache_creation_input_tokens", 0)
        return TokenUsage(
            input_tokens=self._usage.get("input_tokens", 0) + cached + cache_writes,
            output_tokens=self._usage.get("output_tokens", 0),
            cached_tokens=cached,
            cache_write_tokens=cache_writes,
            hour_cache_write_tokens=self._for_an_hour(cache_writes),
        )

    def _for_an_hour(self, cache_writes: int) -> int:
        if self._hour_writes is None:
            return cache_writes if self._cached_for_an_hour else 0
        return min(self._hour_writes, cache_writes)

    def counted(self, failure: ProviderFailure) -> ProviderFailure:
        """Add the usage so far to a failure: a message that started is paid for."""
        if self.begun:
            failure.usage = self.usage
        return failure

    def completion(self, request: ModelRequest, provider: str) -> Completion:
        """Return the whole answer."""
        model = self._model or request.model
        parts = (block.part(provider, request.model) for _, block in sorted(self._blocks.items()))
        content = tuple(part for part in parts if part is not None)
        stop_reason = _STOP_REASONS.get(self.stop_reason or "", "other")
        if stop_reason == "end" and any(isinstance(part, ToolCallPart) for part in content):
            stop_reason = "tool_calls"
        return Completion(content, stop_reason, model, self.usage)


def _read(text: str) -> JsonValue:
    try:
        return json.loads(text)
    except ValueError:
        return text
