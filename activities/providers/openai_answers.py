"""Answers of Chat Completions, whole or in pieces: the fields that we use, because servers differ.

Knows no SDK.
"""

from pydantic import BaseModel, JsonValue

from activities.contracts import StopReason, TokenUsage
from activities.providers.provider import Completion, ModelRequest

_STOP_REASONS: dict[str, StopReason] = {
    "stop": "end",
    "length": "max_tokens",
    "content_filter": "refusal",
}


class _Details(BaseModel):
    cached_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None


class ChatMessage(BaseModel):
    """What the model says, or the next piece of it."""

    content: str | None = None
    refusal: str | None = None


class ChatChoice(BaseModel):
    """One answer; only one is asked for."""

    message: ChatMessage
    finish_reason: str | None = None


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
        return TokenUsage(
            input_tokens=usage.prompt_tokens or 0,
            output_tokens=usage.completion_tokens or 0,
            cached_tokens=(usage.prompt_tokens_details or _Details()).cached_tokens or 0,
        )

    def completion(self, request: ModelRequest, choice: ChatChoice) -> Completion:
        """Return one of the choices as the answer."""
        refused = choice.message.refusal
        stop_reason = _STOP_REASONS.get(choice.finish_reason or "", "other")
        return Completion.of(
            text=refused or choice.message.content or "",
            stop_reason="refusal" if refused else stop_reason,
            model=self.model or request.model,
            usage=self.counted,
        )


class _ChunkChoice(BaseModel):
    delta: ChatMessage | None = None
    finish_reason: str | None = None


class ChatChunk(BaseModel):
    """One event of a streamed answer."""

    model: str | None = None
    choices: list[_ChunkChoice] | None = None
    usage: _Usage | None = None


class ChatParts:
    """The parts of a streamed answer received so far."""

    def __init__(self) -> None:
        self.begun = False
        self._has_choices = False
        self._model: str | None = None
        self._content: list[str] = []
        self._refusal: list[str] = []
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
            piece += delta.content or ""
            self._refusal.append(delta.refusal or "")
        self._content.append(piece)
        return piece

    def answer(self) -> ChatAnswer:
        """Return what has arrived as an answer."""
        said = ChatMessage(content="".join(self._content), refusal="".join(self._refusal) or None)
        choice = ChatChoice(message=said, finish_reason=self._finish_reason)
        choices = [choice] if self._has_choices else []
        return ChatAnswer(model=self._model, choices=choices, usage=self._usage)
