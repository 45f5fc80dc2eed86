"""Store conversations: each turn once, chained to its predecessor and named by its hash.

A history holds only the name of the latest turn, so a conversation of n turns takes n turns of
storage, not their sum over and over. Turns never change; a worker caches those that it has read.
"""

from collections import OrderedDict

from pydantic import ValidationError

from activities.contracts import Conversation
from activities.providers.message_model import ModelMessage
from activities.storage.blobs import BlobMissing, Blobs
from dsl.values import Frozen

_KEPT = 32_000_000
"""Characters of turns that a process caches, for all its runs."""


class Turn(Frozen):
    """One question to an agent, and its answer."""

    parent: str | None = None
    """The name of the previous turn; None for the first."""
    number: int | None = None
    """Its number in the conversation, from 1; None where an older worker stored it."""
    prompt: str
    answer: str


class Conversations:
    """The conversations of a worker's runs."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._read: OrderedDict[str, Turn] = OrderedDict()
        self._characters = 0

    def open(self, asked: Conversation, within: str) -> "OpenConversation":
        """Open a conversation for one turn of an agent.

        Args:
            asked: Where it continues.
            within: The run that it belongs to.
        """
        return OpenConversation(self, asked, within)

    async def turn(self, name: str, within: str) -> Turn:
        """Return the turn of that name.

        Raises:
            BlobMissing: It does not exist, or is not a turn.
            BlobsUnusable: The storage cannot be reached.
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
                f"the stored value {name[:12]} is not a turn of a conversation"
            ) from None
        self._keep(name, turn)
        return turn

    async def add(self, turn: Turn, within: str) -> str:
        """Store a turn, and return its name.

        Raises:
            BlobsUnusable: The storage cannot be written.
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
    """The view of one turn on its conversation."""

    def __init__(self, conversations: Conversations, asked: Conversation, within: str) -> None:
        self._conversations = conversations
        self._asked = asked
        self._within = within
        self.number = 1
        """The number of this turn, from 1; known after `earlier`."""

    async def earlier(self) -> tuple[ModelMessage, ...]:
        """Return the previous turns, oldest first: all, or the latest ones within the window."""
        asked, turns, latest = self._asked, list[Turn](), None
        name, characters = asked.head, 0
        while name is not None and (asked.turns is None or len(turns) < asked.turns):
            turn = await self._conversations.turn(name, self._within)
            latest = latest or turn
            characters += _length(turn)
            if asked.characters is not None and characters > asked.characters:
                break
            turns.append(turn)
            name = turn.parent
        self.number = 1 + (0 if latest is None else latest.number or len(turns))
        return tuple(
            message
            for turn in reversed(turns)
            for message in (
                ModelMessage.of("user", turn.prompt),
                ModelMessage.of("assistant", turn.answer),
            )
        )

    async def add(self, prompt: str, answer: str) -> str:
        """Store this turn, and return its name, from which the next one continues.

        Raises:
            BlobsUnusable: The storage cannot be written.
        """
        turn = Turn(parent=self._asked.head, number=self.number, prompt=prompt, answer=answer)
        return await self._conversations.add(turn, self._within)


def _length(turn: Turn) -> int:
    return len(turn.prompt) + len(turn.answer)
