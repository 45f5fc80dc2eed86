"""Read answers of Chat Completions, whole or in pieces: the fields that we use, as servers differ.

Pure; knows no SDK.
"""

import json
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, JsonValue

from coterie.activities.contracts import StopReason, TokenUsage
from coterie.activities.providers.message_model import (
    Part,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    calls_of,
)
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.providers.translation.counted_tokens import counted_output
from coterie.activities.providers.translation.wire_values import new_call_id
from coterie.dsl.values import Json


def text_in(part: JsonValue) -> str:
    """Return the text of a part; empty for thinking and what is unknown."""
    match part:
        case str() | {"type": "text", "text": str()}:
            return part if isinstance(part, str) else str(part["text"])
        case _:
            return ""


def is_text(parts: Sequence[JsonValue]) -> bool:
    """Return whether the parts are texts only."""
    return all(isinstance(part, str) or text_in(part) for part in parts)


def joined(pieces: Sequence[JsonValue]) -> list[JsonValue]:
    """Return the parts of a streamed content, where neighbours of one type are pieces of one."""
    parts: list[JsonValue] = []
    for piece in pieces:
        match parts, piece:
            case [*_, {"type": "text", "text": str(before)}], {"type": "text", "text": str(more)}:
                parts[-1] = {"type": "text", "text": before + more}
            case (
                [*_, {"type": "thinking", "thinking": list(thoughts)}],
                {"type": "thinking", "thinking": list(others)},
            ):
                parts[-1] = {"type": "thinking", "thinking": joined([*thoughts, *others])}
            case _:
                parts.append(piece)
    return parts


_STOP_REASONS: dict[str, StopReason] = {
    "stop": "end",
    "tool_calls": "end",  # decided by whether there are calls: servers differ
    "length": "max_tokens",
    "content_filter": "refusal",
}


class _Details(BaseModel):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _OutputDetails(BaseModel):
    reasoning_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    completion_tokens_details: _OutputDetails | None = None
    prompt_tokens_details: _Details | None = None


class _Function(BaseModel):
    name: str | None = None
    arguments: str | Json | None = None
    """Text, or an object from servers that parse it."""


class ChatCall(BaseModel):
    """A call, or the next piece of one."""

    model_config = ConfigDict(extra="allow")

    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: _Function | None = None

    @property
    def extra(self) -> Json:
        """What the server wants back with the call, such as Gemini's signature of its thoughts."""
        return {**(self.model_extra or {})}


class ChatMessage(BaseModel):
    """What the model says, or the next piece of it."""

    content: str | list[JsonValue] | None = None
    """Text; or parts, from servers that put the thinking beside it (Mistral)."""
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[ChatCall] | None = None

    @property
    def text(self) -> str:
        """The text of the content."""
        if isinstance(self.content, list):
            return "".join(map(text_in, self.content))
        return self.content or ""

    @property
    def thoughts(self) -> Json:
        """What the model thought, as its server takes it back."""
        named = {"reasoning_content": self.reasoning_content, "reasoning": self.reasoning}
        fields: Json = {name: text for name, text in named.items() if text is not None}
        return {**fields, "content": self.content} if isinstance(self.content, list) else fields


class ChatChoice(BaseModel):
    """One answer; only one is asked for."""

    message: ChatMessage
    finish_reason: str | None = None


class _Counted(BaseModel):
    usage: _Usage | None = None


class ChatAnswer(BaseModel):
    """A whole answer."""

    model: str | None = None
    choices: list[ChatChoice] | None = None
    usage: _Usage | None = None
    error: JsonValue = None

    @property
    def counted(self) -> TokenUsage:
        """The usage, with cached tokens in the input count; zeros if the server reports none."""
        usage = self.usage or _Usage()
        details = usage.prompt_tokens_details or _Details()
        prompt, of_output = usage.prompt_tokens or 0, usage.completion_tokens_details
        reasoning = 0 if of_output is None else of_output.reasoning_tokens or 0
        output, total = usage.completion_tokens or 0, usage.total_tokens or 0
        return TokenUsage(
            input_tokens=prompt,
            output_tokens=counted_output(output, reasoning, total, prompt),
            cached_tokens=details.cached_tokens or 0,
            cache_write_tokens=details.cache_write_tokens or 0,
        )

    def completion(self, request: ModelRequest, choice: ChatChoice, provider: str) -> Completion:
        """Return one of the choices as the answer.

        The presence of calls decides whether the model wants them, unless the answer was cut off:
        not every server says `tool_calls` with them, and some say it without any.
        """
        model = self.model or request.model
        message = choice.message
        content = _content(request, message, provider)
        stop_reason = _STOP_REASONS.get(choice.finish_reason or "", "other")
        if message.refusal:
            stop_reason = "refusal"
        elif stop_reason in ("end", "other") and calls_of(content):
            stop_reason = "tool_calls"
        return Completion(content, stop_reason, model, self.counted)


def _content(request: ModelRequest, message: ChatMessage, provider: str) -> tuple[Part, ...]:
    parts: list[Part] = []
    if message.thoughts:
        parts.append(ThinkingPart(provider, request.model, message.thoughts))
    text = message.refusal or message.text
    if text:
        parts.append(TextPart(text))
    call_ids = {call.id for turn in request.messages for call in calls_of(turn.content)}
    for index, call in enumerate(message.tool_calls or ()):
        function = call.function or _Function()
        call_id = call.id or ""
        if not call_id or call_id in call_ids:  # small servers send none, or the same each time
            call_id = new_call_id(request, index)
        call_ids.add(call_id)
        extra = {provider: call.extra} if call.extra else None
        parts.append(ToolCallPart(call_id, function.name or "", _arguments(function), extra))
    return tuple(parts)


def _arguments(function: _Function) -> str:
    """Return the arguments as the model wrote them; those of a call without any are empty."""
    if isinstance(function.arguments, dict):
        return json.dumps(function.arguments, ensure_ascii=False)
    return function.arguments or "{}"


class _ChunkChoice(BaseModel):
    delta: ChatMessage | None = None
    finish_reason: str | None = None


class ChatChunk(BaseModel):
    """One event of a streamed answer."""

    model: str | None = None
    choices: list[_ChunkChoice] | None = None
    usage: _Usage | None = None


class _Calls:
    """The calls of a streamed answer received so far.

    Servers number the pieces of calls differently: by an index for each call, with one index for
    all, or not at all; with the id in the first piece or in each.
    """

    def __init__(self) -> None:
        self.calls: list[ChatCall] = []
        self._by_index: dict[int, ChatCall] = {}

    def take(self, piece: ChatCall) -> None:
        """Add a piece."""
        open_call = self._open(piece)
        if open_call is None:
            open_call = piece.model_copy(deep=True)
            open_call.function = open_call.function or _Function()
            self.calls.append(open_call)
        else:
            self._join(open_call, piece)
        if piece.index is not None:
            self._by_index[piece.index] = open_call

    def _open(self, piece: ChatCall) -> ChatCall | None:
        """Return the call that the piece continues; None if it begins one."""
        last = self.calls[-1] if self.calls else None
        call = last if piece.index is None else self._by_index.get(piece.index)
        if call is None or (piece.id and call.id and piece.id != call.id):
            return None
        if piece.index is None and not piece.id and _is_whole(piece):
            return None  # a server that sends each call in one piece, without index and id
        return call

    def _join(self, call: ChatCall, piece: ChatCall) -> None:
        function, more = call.function or _Function(), piece.function or _Function()
        call.id = call.id or piece.id
        function.name = function.name or more.name
        if isinstance(more.arguments, str) and isinstance(function.arguments, str | None):
            function.arguments = (function.arguments or "") + more.arguments
        elif more.arguments is not None:
            function.arguments = more.arguments
        call.function = function
        for name, value in piece.extra.items():
            setattr(call, name, value)


def _is_whole(piece: ChatCall) -> bool:
    return piece.function is not None and bool(piece.function.name)


class ChatParts:
    """The parts of a streamed answer received so far."""

    def __init__(self) -> None:
        self.begun = False
        self._has_choices = False
        self._model: str | None = None
        self._content: list[str] = []
        self._parts: list[JsonValue] = []
        self._refusal: list[str] = []
        self._thoughts: dict[str, str] = {}
        self._calls = _Calls()
        self._finish_reason: str | None = None
        self._usage: _Usage | None = None

    def take(self, chunk: ChatChunk) -> str:
        """Add one event, and return the text that it shows; the usage comes last."""
        self.begun = True
        self._model = chunk.model or self._model
        self._usage = chunk.usage or self._usage
        piece = ""
        for choice in chunk.choices or ():
            self._has_choices = True
            self._finish_reason = choice.finish_reason or self._finish_reason
            delta = choice.delta or ChatMessage()
            piece += delta.text
            if isinstance(delta.content, list):
                self._parts += delta.content
            elif delta.content:
                self._parts.append({"type": "text", "text": delta.content})
            self._refusal.append(delta.refusal or "")
            for name, thought in delta.thoughts.items():
                if isinstance(thought, str):
                    self._thoughts[name] = self._thoughts.get(name, "") + thought
            for call in delta.tool_calls or ():
                self._calls.take(call)
        self._content.append(piece)
        return piece

    def answer(self) -> ChatAnswer:
        """Return what has arrived as an answer."""
        message = ChatMessage(
            content="".join(self._content) if is_text(self._parts) else joined(self._parts),
            refusal="".join(self._refusal) or None,
            reasoning_content=self._thoughts.get("reasoning_content"),
            reasoning=self._thoughts.get("reasoning"),
            tool_calls=self._calls.calls or None,
        )
        choice = ChatChoice(message=message, finish_reason=self._finish_reason)
        choices = [choice] if self._has_choices else []
        return ChatAnswer(model=self._model, choices=choices, usage=self._usage)


def counted_in(body: bytes) -> TokenUsage | None:
    """Return the usage in an answer that cannot be read otherwise, if it has one."""
    try:
        counted = _Counted.model_validate_json(body)
    except ValueError:
        return None
    return None if counted.usage is None else ChatAnswer(usage=counted.usage).counted
