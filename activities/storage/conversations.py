"""Conversations: each turn is kept once, chained to the one before it, and named by a hash.

A history holds the name of the latest turn alone, so a conversation of n turns costs n turns,
not their sum over and over. A turn never changes; a worker keeps what it has read.
"""

from collections import OrderedDict

from pydantic import ValidationError

from activities.contracts import Conversation
from activities.providers.provider import ModelMessage
from activities.storage.blobs import BlobMissing, Blobs
from dsl.values import Frozen

_KEPT = 32_000_000
"""Characters of turns that a process keeps in memory, for all its runs."""


class Turn(Frozen):
    """What one agent was asked and answered."""

    parent: str | None = None
    """The name of the turn before; None for the first."""
    prompt: str
    answer: str


class Conversations:
    """The conversations of a worker's runs."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._read: OrderedDict[str, Turn] = OrderedDict()
        self._characters = 0

    def open(self, asked: Conversation, within: str) -> "OpenConversation":
        """One agent's part in a conversation.

        Args:
            asked: from where it goes on.
            within: the run that it belongs to.
        """
        return OpenConversation(self, asked, within)

    async def turn(self, name: str, within: str) -> Turn:
        """The turn of a name.

        Raises:
            BlobMissing: it is not there, or is no turn.
            BlobsUnusable: the storage cannot be reached.
        """
        known = self._read.get(name)
        if known is not None:
            self._read.move_to_end(name)
            return known
        data = await self._blobs.get(name, within)
        try:
            turn = Turn.model_validate_json(data)
        except ValidationError:
            raise BlobMissing(
                f"the stored value {name[:12]} is no turn of a conversation"
            ) from None
        self._keep(name, turn)
        return turn

    async def add(self, turn: Turn, within: str) -> str:
        """Keep a turn; its name.

        Raises:
            BlobsUnusable: it cannot be kept.
        """
        name = await self._blobs.put(turn.model_dump_json().encode(), within)
        self._keep(name, turn)
        return name

    def _keep(self, name: str, turn: Turn) -> None:
        if name in self._read:
            return
        self._read[name] = turn
        self._characters += _length(turn)
        while self._characters > _KEPT and len(self._read) > 1:
            _, oldest = self._read.popitem(last=False)
            self._characters -= _length(oldest)


class OpenConversation:
    """What one turn of an agent has of its conversation."""

    def __init__(self, conversations: Conversations, asked: Conversation, within: str) -> None:
        self._conversations = conversations
        self._asked = asked
        self._within = within

    async def earlier(self) -> tuple[ModelMessage, ...]:
        """The turns before this one, oldest first: all, or the latest that are asked for."""
        turns: list[Turn] = []
        name = self._asked.head
        while name is not None and (self._asked.turns is None or len(turns) < self._asked.turns):
            turn = await self._conversations.turn(name, self._within)
            turns.append(turn)
            name = turn.parent
        return tuple(
            message
            for turn in reversed(turns)
            for message in (
                ModelMessage("user", turn.prompt),
                ModelMessage("assistant", turn.answer),
            )
        )

    async def add(self, prompt: str, answer: str) -> str:
        """Keep this turn; the name from which the next one goes on.

        Raises:
            BlobsUnusable: it cannot be kept.
        """
        turn = Turn(parent=self._asked.head, prompt=prompt, answer=answer)
        return await self._conversations.add(turn, self._within)


def _length(turn: Turn) -> int:
    return len(turn.prompt) + len(turn.answer)
