"""The messages of a run as a client shows them: what models said, their calls, the results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ag_ui.core import (
    AssistantMessage,
    FunctionCall,
    Message,
    MessagesSnapshotEvent,
    ReasoningMessage,
    ToolCall,
    ToolMessage,
)

from coterie.gateway.streams.cursors import Cursor

MAX_MESSAGES = 2_000
"""Of a run that a snapshot has; older ones are left out."""


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A call of a tool."""

    id: str
    name: str
    arguments: str


@dataclass(slots=True)
class ShownMessage:
    """A message of the assistant, or the result of a tool."""

    id: str
    cursor: Cursor
    """Of the event that has it."""
    text: str
    subagent: str | None = None
    calls: list[ShownCall] = field(default_factory=list[ShownCall])
    result_of: str = ""
    """The id of the call whose result it is; empty of a message of the assistant."""
    is_reasoning: bool = False
    """Whether it is what people may read of a model's thinking."""

    def as_message(self) -> Message:
        """Return it in the form of AG-UI."""
        fields: dict[str, str] = {"id": self.id}
        if self.subagent is not None:
            fields["subagent_run_id"] = self.subagent
        if self.result_of:
            return ToolMessage.model_validate(
                {**fields, "role": "tool", "content": self.text, "tool_call_id": self.result_of}
            )
        if self.is_reasoning:
            thought = {**fields, "role": "reasoning", "content": self.text}
            return ReasoningMessage.model_validate(thought)
        message = AssistantMessage.model_validate({**fields, "role": "assistant"})
        if self.text or not self.calls:
            message.content = self.text
        if self.calls:
            message.tool_calls = [_call(call) for call in self.calls]
        return message


def _call(call: ShownCall) -> ToolCall:
    function = FunctionCall(name=call.name, arguments=call.arguments)
    return ToolCall(id=call.id, type="function", function=function)


class RunMessages:
    """The messages of a run so far, after those that the client sent."""

    def __init__(self, sent: Sequence[Message]) -> None:
        """Take the messages of the client; what came after its last own one is of this run."""
        places = [place for place, message in enumerate(sent) if message.role == "user"]
        self._sent = list(sent[: places[-1] + 1] if places else ())
        self._shown: list[ShownMessage] = []

    def add(self, message: ShownMessage) -> None:
        """Add a message."""
        self._shown.append(message)
        del self._shown[:-MAX_MESSAGES]

    def note_calls(
        self, message: str, cursor: Cursor, calls: Sequence[ShownCall], subagent: str | None
    ) -> None:
        """Note the calls of tools at the message that asks for them."""
        shown = next((it for it in reversed(self._shown) if it.id == message), None)
        if shown is None:
            shown = ShownMessage(message, cursor, "", subagent)
            self.add(shown)
        shown.calls.extend(calls)

    def begin(self) -> None:
        """Forget what came before the message on which a session works for this client."""
        self._shown.clear()

    def reset(self, run_id: str, event: int) -> None:
        """Forget what a reset takes back.

        Args:
            run_id: Of the history that was reset.
            event: Its last event that counts.
        """
        self._shown = [
            shown
            for shown in self._shown
            if shown.cursor.run != run_id or shown.cursor.event <= event
        ]

    @property
    def last_text(self) -> str:
        """What a model said last."""
        said = (it.text for it in reversed(self._shown) if not (it.result_of or it.is_reasoning))
        return next((text for text in said if text), "")

    def snapshot(self) -> MessagesSnapshotEvent:
        """Return all messages, which replace those of the client."""
        return MessagesSnapshotEvent(messages=list(self._all()))

    def _all(self) -> Iterator[Message]:
        own = {shown.id for shown in self._shown}
        yield from (message for message in self._sent if message.id not in own)
        yield from (shown.as_message() for shown in self._shown)
