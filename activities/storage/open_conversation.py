"""The view of one model turn on its conversation: the turns before it, and how it continues."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from coterie.activities.contracts import Conversation
from coterie.activities.providers.message_json import content_to_json
from coterie.activities.providers.message_model import (
    ModelMessage,
    StoredPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from coterie.activities.storage.conversations import Conversations
from coterie.activities.storage.media import REFERENCE, references
from coterie.activities.storage.turn_records import Opening, Turn, messages_of
from coterie.dsl.tool_loop.exchange import ToolResult
from coterie.dsl.tool_loop.result_texts import shortened_result

ResultRoom = Callable[[int, int], Awaitable[int | None]]
"""Returns how many characters each of so many results may have, by all their characters; None if
they surely fit."""

_MAX_REFERENCE = 200
"""Characters of a reference to an image."""


async def result_parts(
    calls: Sequence[ToolCallPart],
    results: Sequence[ToolResult],
    value: Callable[[str], Awaitable[JsonValue]],
    room: ResultRoom | None = None,
) -> tuple[ToolResultPart, ...]:
    """Return the results of calls, in the order of the calls; calls without one get none.

    Args:
        calls: of one turn.
        results: in the same order.
        value: reads a stored value.
        room: of the model that reads them; None if nobody knows it.
    """
    pairs = list(zip(calls, results, strict=False))
    texts = [
        result.text if result.kept is None else result.text + _text(await value(result.kept))
        for _, result in pairs
    ]
    share = None if room is None else await room(len(texts), sum(map(len, texts)))
    parts: list[ToolResultPart] = []
    for (call, result), whole in zip(pairs, texts, strict=True):
        most = share if result.max_result is None else result.max_result
        text = whole if most is None else shortened_result(whole, most, result.kept)
        media = () if result.failed else _media(text)
        parts.append(ToolResultPart(call.id, text, is_error=result.failed, media=media))
    return tuple(parts)


def _media(text: str) -> tuple[StoredPart, ...]:
    """Return what a result shows: only one that is nothing but a reference shows anything."""
    if len(text) > _MAX_REFERENCE:
        return ()
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    return references(value) if isinstance(value, dict) and REFERENCE in value else ()


def _text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class _Window(NamedTuple):
    """The earlier turns that one turn sees."""

    latest: Turn | None
    """The latest turn, even if the window leaves it out."""
    turns: list[Turn]
    """The latest first."""
    in_progress: int
    """How many of them belong to the reader's own step."""
    is_whole: bool
    """Whether they are all turns of the conversation."""


class AddedTurn(NamedTuple):
    """What a turn of an agent without tools adds."""

    prompt: str
    """The question."""
    answer: str
    """The answer."""
    media: tuple[StoredPart, ...] = ()
    """What the model saw besides the question."""
    tokens: int | None = None
    """Input and output, as the provider counted them."""
    left: tuple[ToolResultPart, ...] = ()
    """Results of the turn before, for the agent whose calls these were."""


class OpenConversation:
    """The view of one turn on its conversation."""

    def __init__(self, conversations: Conversations, asked: Conversation, within: str) -> None:
        self.room: ResultRoom | None = None
        """Of the model that reads results; None if nobody knows it."""
        self._conversations = conversations
        self._asked = asked
        self._within = within
        self.number = 1
        """The number of this turn, from 1; known after `earlier`."""
        self.tokens: int | None = None
        """Tokens of all earlier turns, where a provider has counted them; known after `earlier`."""
        self.turns = 1
        """Its turns with this one; known after `earlier`, where no window leaves some out."""

    async def earlier(
        self, opening: str | None = None, *, continues: bool = False
    ) -> tuple[ModelMessage, ...]:
        """Return the previous turns, oldest first: all, or the latest ones within the window.

        A window holds whole steps: the turns of an agent with tools belong together. So it stays
        the same for all turns of one step.

        Args:
            opening: The name of the reader's own opening. Its turns keep their calls and results;
                all others are text.
            continues: Whether the latest turns belong to the reader's own step; they are returned
                beside the window.
        """
        window = await self._window(continues=continues)
        latest, turns = window.latest, window.turns
        self.number = 1 + (0 if latest is None else latest.number or len(turns))
        self.turns = 1 + len(turns)
        if latest is not None and window.is_whole and latest.opening == opening:
            self.tokens = latest.tokens
        if not window.is_whole:  # thinking of earlier steps is bound to a beginning that is missing
            own, others = turns[: window.in_progress], turns[window.in_progress :]
            turns = [*own, *(turn.without_bound_parts() for turn in others)]
        return messages_of(tuple(reversed(turns)), opening)

    async def _window(self, *, continues: bool) -> _Window:
        """Read turns, the latest first, as long as their steps fit into the window."""
        conversation, turns, latest = self._asked, list[Turn](), None
        in_progress, is_whole = 0, True
        name, steps, characters = conversation.head, 0, 0
        step: list[Turn] = []
        while name is not None and (
            continues or conversation.turns is None or steps < conversation.turns
        ):
            turn = await self._conversations.turn(name, self._within)
            latest, name = latest or turn, turn.parent
            step.append(turn)
            if turn.continues and name is not None:
                continue
            if not continues:
                steps += 1
                characters += sum(member.length for member in step)
                if conversation.characters is not None and characters > conversation.characters:
                    is_whole = False
                    break
            turns += step
            in_progress = len(turns) if continues else in_progress
            continues, step = False, []
        return _Window(latest, turns, in_progress, is_whole and name is None)

    async def all(self) -> list[Turn]:
        """Return all turns, oldest first."""
        turns: list[Turn] = []
        name = self._asked.head
        while name is not None:
            turn = await self._conversations.turn(name, self._within)
            turns.append(turn)
            name = turn.parent
        return turns[::-1]

    async def replace(self, turns: Sequence[Turn]) -> str:
        """Store turns as a new conversation, and return the name of the latest one.

        Raises:
            BlobsUnusable: The storage cannot be written.
        """
        name: str | None = None
        for turn in turns:
            new_turn = turn.model_copy(update={"parent": name})
            name = await self._conversations.add(new_turn, self._within)
        assert name is not None, "a conversation has a turn"
        return name

    async def left_results(
        self, opening: str | None, results: Sequence[ToolResult]
    ) -> tuple[ToolResultPart, ...]:
        """Return the results of the latest turn that another agent has left; its view needs them.

        Args:
            opening: The name of the reader's own opening.
            results: Of the latest turn's calls.
        """
        latest = await self.latest() if results else None
        if latest is None or latest.opening == opening:
            return ()
        return await self.result_parts(latest.calls, results)

    async def results_for_others(self) -> tuple[ToolResultPart, ...]:
        """Return the results of the latest turn that an agent without tools stores for another."""
        return await self.left_results(None, self._asked.left)

    async def result_parts(
        self, calls: Sequence[ToolCallPart], results: Sequence[ToolResult]
    ) -> tuple[ToolResultPart, ...]:
        """Return the results of calls as the model of this turn gets them."""
        return await result_parts(calls, results, self.value, self.room)

    async def latest(self) -> Turn | None:
        """Return the latest turn."""
        if self._asked.head is None:
            return None
        return await self._conversations.turn(self._asked.head, self._within)

    async def opening(self, name: str) -> Opening:
        """Return the opening of that name."""
        return await self._conversations.opening(name, self._within)

    async def opening_of(self, agent: str) -> str | None:
        """Return the name of the latest opening of an agent in this conversation."""
        name = self._asked.head
        while name is not None:
            turn = await self._conversations.turn(name, self._within)
            own = turn.opening
            if own is not None and (await self.opening(own)).agent == agent:  # read once, then kept
                return own
            name = turn.parent
        return None

    async def begin(self, opening: Opening) -> str:
        """Store an opening, and return its name.

        Raises:
            BlobsUnusable: The storage cannot be written.
        """
        return await self._conversations.add(opening, self._within)

    async def value(self, name: str) -> JsonValue:
        """Return a stored value."""
        return await self._conversations.value(name, self._within)

    async def add(self, said: AddedTurn) -> str:
        """Store this turn, and return its name, from which the next one continues.

        Raises:
            BlobsUnusable: The storage cannot be written.
        """
        turn = Turn(
            parent=self._asked.head,
            number=self.number,
            prompt=said.prompt,
            answer=said.answer,
            tokens=said.tokens,
            left=content_to_json(said.left) if said.left else None,
        )
        if said.media:
            question = content_to_json((TextPart(said.prompt), *said.media))
            turn = turn.model_copy(update={"prompt": "", "asked": question})
        return await self._conversations.add(turn, self._within)

    async def add_messages(
        self,
        opening: str,
        asked: ModelMessage,
        answered: ModelMessage,
        tokens: int | None = None,
        left: tuple[ToolResultPart, ...] = (),
        *,
        continues: bool,
    ) -> str:
        """Store this turn of an agent with tools, and return its name.

        Args:
            opening: The name of the agent's opening.
            asked: What the model got: a prompt, or the results of its calls.
            answered: What it sent, all of it.
            tokens: Input and output, as the provider counted them.
            left: The results of the turn before, which another agent has left.
            continues: Whether the turn continues the step of the one before.

        Raises:
            BlobsUnusable: The storage cannot be written.
        """
        turn = Turn(
            parent=self._asked.head,
            number=self.number,
            opening=opening,
            asked=content_to_json(asked.content),
            answered=content_to_json(answered.content),
            continues=continues,
            tokens=tokens,
            left=content_to_json(left) if left else None,
        )
        return await self._conversations.add(turn, self._within)
