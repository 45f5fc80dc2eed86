"""The records of a conversation: turns and openings, and the messages that a model gets of them."""

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Self

from pydantic import Field, JsonValue

from coterie.activities.providers.message_json import content_from_json, content_to_json
from coterie.activities.providers.message_model import (
    ModelMessage,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    calls_of,
    returnable,
    text_of,
    unbound,
)
from coterie.dsl.model.plan import Persona
from coterie.dsl.tool_loop.exchange import OfferedTool
from coterie.dsl.tool_loop.result_texts import LOST
from coterie.dsl.values import Frozen

TOO_LATE = "not executed: no turns with tools are left; answer without calls"
"""What a model reads of a call in its last turn, when it must answer again."""


SUMMARY = "[The conversation so far became too long. This summary replaces it.]"
"""What a model reads before the summary of its conversation."""


class Opening(Frozen):
    """What stays the same in all turns of an agent with tools."""

    agent: str
    """Digest of its persona and its tools, as the plan has them."""
    persona: Persona
    """Without its prompts."""
    system: str | None = None
    """The system prompt, as it was rendered for the first turn."""
    tools: tuple[OfferedTool, ...] = Field(default=())


class Turn(Frozen):
    """One question to an agent, and its answer."""

    parent: str | None = None
    """The name of the previous turn; None for the first."""
    number: int | None = None
    """Its number in the conversation, from 1; None where an older worker stored it."""
    prompt: str = ""
    answer: str = ""
    opening: str | None = None
    """The name of the opening, for an agent with tools; then `asked` and `answered` hold all."""
    asked: JsonValue = None
    """The parts of the message to the model."""
    answered: JsonValue = None
    """The parts that it sent."""
    continues: bool = False
    """It continues the step of the turn before: with results, or after an unusable answer."""
    tokens: int | None = None
    """Input and output, as the provider counted them; None if unknown."""
    left: JsonValue = None
    """Results of the calls of the turn before, whose agent is another one and has not sent them."""
    summary: str = ""
    """Of the turns that a compaction replaced; it comes before the question."""

    def __copy__(self) -> Self:
        """Return a copy that reads its parts anew: `model_copy` may change them."""
        copied = super().__copy__()
        for name in ("asked_parts", "question", "reply"):
            vars(copied).pop(name, None)
        return copied

    @cached_property
    def asked_parts(self) -> tuple[Part, ...]:
        """The parts of the question, without a summary of earlier turns."""
        return (TextPart(self.prompt),) if self.asked is None else content_from_json(self.asked)

    @cached_property
    def question(self) -> tuple[Part, ...]:
        """What the model got."""
        own = self.asked_parts
        return (TextPart(f"{SUMMARY}\n\n{self.summary}\n\n"), *own) if self.summary else own

    @cached_property
    def reply(self) -> tuple[Part, ...]:
        """What the model sent and may get back; empty after an answer without a text or a call."""
        if self.answered is None:
            return returnable((TextPart(self.answer),))
        return returnable(content_from_json(self.answered))

    def without_bound_parts(self) -> "Turn":
        """Return the turn without what is bound to the beginning of its conversation."""
        return self.model_copy(update={"answered": content_to_json(unbound(self.reply))})

    @property
    def length(self) -> int:
        """Its characters, without thinking and images."""
        return sum(map(_length, (*self.question, *self.reply)))

    @property
    def calls(self) -> tuple[ToolCallPart, ...]:
        """The calls that it asks for."""
        return calls_of(self.reply)


def storable(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return parts of an answer without halves of surrogate pairs, which UTF-8 cannot hold."""
    text = json.dumps(content_to_json(parts), ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        clean = text.encode(errors="replace").decode()
        return content_from_json(json.loads(clean))
    return parts


def messages_of(turns: Sequence[Turn], opening: str | None) -> tuple[ModelMessage, ...]:
    """Return turns as messages; those of another opening as text.

    The calls of a turn that another agent's turn follows get a result that says they have none.
    """
    messages: list[ModelMessage] = []
    for turn in turns:
        own = turn.opening == opening and opening is not None
        if opening is None and turn.opening is None:  # as they were sent
            _add(messages, "user", turn.question)
            _add(messages, "assistant", turn.reply)
            continue
        question = turn.question if own else _as_text(turn.question)
        question = (*left_results(messages, turn), *question)
        _add(messages, "user", with_results(messages, question))
        _add(messages, "assistant", turn.reply if own else _as_text(turn.reply))
    return tuple(messages)


def left_results(messages: Sequence[ModelMessage], turn: Turn) -> tuple[Part, ...]:
    """Return the results in a turn of another agent that answer calls of the last message."""
    if turn.left is None or not messages:
        return ()
    calls = {call.id for call in calls_of(messages[-1].content)}
    parts = content_from_json(turn.left)
    return tuple(
        part for part in parts if isinstance(part, ToolResultPart) and part.call_id in calls
    )


def with_question(
    earlier: Sequence[ModelMessage], *next_messages: ModelMessage
) -> tuple[ModelMessage, ...]:
    """Return earlier messages and the next ones; a summary and a question become one message."""
    messages = list(earlier)
    for message in next_messages:
        _add(messages, message.role, message.content)
    return tuple(messages)


def with_results(
    messages: Sequence[ModelMessage], asked: tuple[Part, ...], missing: str = LOST
) -> tuple[Part, ...]:
    """Return the next question, with a result for each call of the last message.

    A call without a result gets the text `missing`.
    """
    calls = calls_of(messages[-1].content) if messages else ()
    call_ids = {part.call_id for part in asked if isinstance(part, ToolResultPart)}
    lost = [
        ToolResultPart(call.id, missing, is_error=True) for call in calls if call.id not in call_ids
    ]
    results = [part for part in asked if isinstance(part, ToolResultPart)]
    others = [part for part in asked if not isinstance(part, ToolResultPart)]
    return (*results, *lost, *others)


def _length(part: Part) -> int:
    match part:
        case TextPart(text=text) | ToolResultPart(text=text):
            return len(text)
        case ToolCallPart(arguments=arguments):
            return len(arguments)
        case _:
            return 0


def _as_text(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    text = text_of(parts)
    return (TextPart(text),) if text.strip() else ()


def _add(messages: list[ModelMessage], role: str, parts: tuple[Part, ...]) -> None:
    """Add a message; join it to one of the same role, and leave an empty one out."""
    if not parts:
        return
    if messages and messages[-1].role == role:
        before = messages.pop()
        messages.append(ModelMessage(before.role, _join_parts(before.content, parts)))
        return
    messages.append(ModelMessage("user" if role == "user" else "assistant", parts))


def _join_parts(before: tuple[Part, ...], after: tuple[Part, ...]) -> tuple[Part, ...]:
    match before, after:
        case (TextPart(text=first, extra=None),), (TextPart(text=second, extra=None),):
            return (TextPart(f"{first}\n\n{second}"),)
        case _:
            return (*before, *after)
