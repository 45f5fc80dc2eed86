"""Read answers of OpenAI's Responses API. Pure; knows no SDK."""

from collections.abc import Iterator

from pydantic import BaseModel, Field, JsonValue

from coterie.activities.contracts import StopReason, TokenUsage
from coterie.activities.providers.message_model import (
    OpaquePart,
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    calls_of,
)
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.providers.translation.counted_tokens import counted_output
from coterie.dsl.values import Json

_INCOMPLETE: dict[str, StopReason] = {
    "max_output_tokens": "max_tokens",
    "content_filter": "refusal",
}


class _InputDetails(BaseModel):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _OutputDetails(BaseModel):
    reasoning_tokens: int | None = None


class _Usage(BaseModel):
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    output_tokens_details: _OutputDetails | None = None
    input_tokens_details: _InputDetails | None = None


class _IncompleteDetails(BaseModel):
    cause: str | None = Field(default=None, alias="reason")


class ResponsesAnswer(BaseModel):
    """A whole answer: the fields that we use."""

    status: str | None = None
    model: str | None = None
    output: list[Json] | None = None
    usage: _Usage | None = None
    incomplete_details: _IncompleteDetails | None = None
    error: JsonValue = None

    @property
    def counted(self) -> TokenUsage:
        """The usage, with cached tokens in the input count; zeros if the server reports none."""
        usage = self.usage or _Usage()
        details = usage.input_tokens_details or _InputDetails()
        prompt, of_output = usage.input_tokens or 0, usage.output_tokens_details
        reasoning = 0 if of_output is None else of_output.reasoning_tokens or 0
        output, total = usage.output_tokens or 0, usage.total_tokens or 0
        return TokenUsage(
            input_tokens=prompt,
            output_tokens=counted_output(output, reasoning, total, prompt),
            cached_tokens=details.cached_tokens or 0,
            cache_write_tokens=details.cache_write_tokens or 0,
        )

    def completion(self, request: ModelRequest, provider: str) -> Completion:
        """Return the answer; its status is `completed` or `incomplete`."""
        model = self.model or request.model
        content = tuple(
            part for item in self.output or () for part in _parts(item, provider, request.model)
        )
        stop_reason: StopReason = "end"
        if self.status == "incomplete":
            details = self.incomplete_details or _IncompleteDetails()
            stop_reason = _INCOMPLETE.get(details.cause or "", "other")
        elif any(_is_refusal(item) for item in self.output or ()):
            stop_reason = "refusal"
        elif calls_of(content):
            stop_reason = "tool_calls"
        return Completion(content, stop_reason, model, self.counted)


class ResponsesEvent(BaseModel):
    """One event of a streamed answer: the fields that we use."""

    type: str
    delta: JsonValue = None
    response: ResponsesAnswer | None = None
    code: str | None = None
    message: str | None = None

    @property
    def text(self) -> str:
        """The piece of text that it adds."""
        is_text = self.type == "response.output_text.delta"
        return self.delta if is_text and isinstance(self.delta, str) else ""


def _parts(item: Json, provider: str, model: str) -> Iterator[Part]:
    """Yield the part that an item is; a message and a call keep what the API wants back."""
    match item:
        case {"type": "message"}:
            text = "".join(_texts(item))
            yield TextPart(text, {provider: item})
        case {
            "type": "function_call",
            "call_id": str(call),
            "name": str(name),
            "arguments": str(arguments),
            **rest,
        }:
            extra: Json = {key: value for key, value in rest.items() if value is not None}
            yield ToolCallPart(call, name, arguments or "{}", {provider: extra} if extra else None)
        case {"type": "reasoning"}:
            yield ThinkingPart(provider, model, item)
        case _:
            yield OpaquePart(provider, item)


def _texts(item: Json) -> Iterator[str]:
    content = item.get("content")
    for piece in content if isinstance(content, list) else ():
        match piece:
            case {"type": "output_text", "text": str(text)} | {
                "type": "refusal",
                "refusal": str(text),
            }:
                yield text
            case _:
                pass


def _is_refusal(item: Json) -> bool:
    content = item.get("content")
    pieces = content if item.get("type") == "message" and isinstance(content, list) else ()
    return any(isinstance(piece, dict) and piece.get("type") == "refusal" for piece in pieces)
