"""Store conversations: each turn once, chained to its predecessor and named by its hash.

A history holds only the name of the latest turn, so a conversation of n turns takes n turns of
storage, not their sum over and over. Turns never change; a worker caches those that it has read.

A conversation only grows: what a model has seen stays as it was, so providers can cache it and bind
thinking to it. An agent with tools therefore freezes its system prompt and its tools in an opening,
which its turns name.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeVar

from pydantic import JsonValue, ValidationError
from pydantic_core import from_json

from activities.contracts import Conversation
from activities.providers.message_json import content_to_json
from activities.providers.message_model import (
    ModelMessage,
    StoredPart,
    TextPart,
    ToolResultPart,
)
from activities.storage.blobs import BlobMissing, Blobs, InheritedBlobs
from activities.storage.result_parts import result_parts
from activities.storage.turn_records import Opening, Turn, messages_of
from dsl.tool_loop.exchange import ToolResult
from dsl.values import Frozen

_KEPT = 32_000_000
"""Characters of turns that a process caches, for all its runs."""

_KEPT_FORKS = 4

Record = TypeVar("Record", bound=Frozen)


class Conversations:
    """The conversations of a worker's runs."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._forks: OrderedDict[str, Conversations] = OrderedDict()
        self._read: OrderedDict[str, tuple[Frozen, int]] = OrderedDict()
        self._characters = 0

    def open(
        self, asked: Conversation, within: str, origins: Sequence[str] = ()
    ) -> "OpenConversation":
        """Open a conversation for one turn of an agent.

        Args:
            asked: Where it continues.
            within: The run that it belongs to.
            origins: The runs that this one was forked from, latest first.
        """
        return OpenConversation(self._of_fork(within, origins), asked, within)

    def _of_fork(self, within: str, origins: Sequence[str]) -> "Conversations":
        """Return the conversations of a fork, which has a cache of its own: of what it has read."""
        if not origins:
            return self
        made = self._forks.pop(within, None) or Conversations(InheritedBlobs(self._blobs, origins))
        self._forks[within] = made
        if len(self._forks) > _KEPT_FORKS:
            self._forks.popitem(last=False)
        return made

    async def turn(self, name: str, within: str) -> Turn:
        """Return the turn of that name.

        Raises:
            BlobMissing: It does not exist, or is not a turn.
            BlobsUnusable: The storage cannot be reached.
        """
        return await self._record(name, within, Turn, "a turn of a conversation")

    async def opening(self, name: str, within: str) -> Opening:
        """Return the opening of that name.

        Raises:
            BlobMissing: It does not exist, or is not an opening.
            BlobsUnusable: The storage cannot be reached.
        """
        return await self._record(name, within, Opening, "the opening of a conversation")

    async def value(self, name: str, within: str) -> JsonValue:
        """Return a stored value.

        Raises:
            BlobMissing: It does not exist, or is not JSON.
            BlobsUnusable: The storage cannot be reached.
        """
        data = await self._blobs.get(name, within)
        try:
            return from_json(data)
        except ValueError:
            raise BlobMissing(f"the stored value {name[:12]} is not JSON") from None

    async def add(self, record: Turn | Opening, within: str) -> str:
        """Store a turn or an opening, and return its name.

        Raises:
            BlobsUnusable: The storage cannot be written.
        """
        data = record.model_dump_json(exclude_defaults=True).encode()
        name = await self._blobs.put(data, within)
        self._keep(name, record, len(data))
        return name

    async def _record(self, name: str, within: str, kind: type[Record], what: str) -> Record:
        known = self._read.get(name)
        if known is not None and isinstance(known[0], kind):
            self._read.move_to_end(name)
            return known[0]
        data = await self._blobs.get(name, within)
        try:
            record = kind.model_validate_json(data)
        except ValidationError:
            raise BlobMissing(f"the stored value {name[:12]} is not {what}") from None
        self._keep(name, record, len(data))
        return record

    def _keep(self, name: str, record: Frozen, size: int) -> None:
        if name in self._read:
            return
        self._read[name] = record, size
        self._characters += size
        while self._characters > _KEPT and len(self._read) > 1:
            _, (_, oldest) = self._read.popitem(last=False)
            self._characters -= oldest


class OpenConversation:
    """The view of one turn on its conversation."""

    def __init__(self, conversations: Conversations, asked: Conversation, within: str) -> None:
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
        asked, kept, latest = self._asked, list[Turn](), None
        in_progress, is_whole = 0, True
        name, steps, characters = asked.head, 0, 0
        step: list[Turn] = []
        while name is not None and (continues or asked.turns is None or steps < asked.turns):
            turn = await self._conversations.turn(name, self._within)
            latest, name = latest or turn, turn.parent
            step.append(turn)
            if turn.continues and name is not None:
                continue
            if not continues:
                steps += 1
                characters += sum(one.length for one in step)
                if asked.characters is not None and characters > asked.characters:
                    is_whole = False
                    break
            kept += step
            in_progress = len(kept) if continues else in_progress
            continues, step = False, []
        self.number = 1 + (0 if latest is None else latest.number or len(kept))
        self.turns = 1 + len(kept)
        is_whole = is_whole and name is None
        if latest is not None and is_whole and latest.opening == opening:
            self.tokens = latest.tokens
        if not is_whole:  # thinking of earlier steps is bound to a beginning that is left out
            kept[in_progress:] = [turn.without_bound_parts() for turn in kept[in_progress:]]
        return messages_of(tuple(reversed(kept)), opening)

    async def all(self) -> list[Turn]:
        """Return all turns, oldest first."""
        found: list[Turn] = []
        name = self._asked.head
        while name is not None:
            turn = await self._conversations.turn(name, self._within)
            found.append(turn)
            name = turn.parent
        return found[::-1]

    async def replace(self, turns: Sequence[Turn]) -> str:
        """Store turns as a new conversation, and return the name of the latest one.

        Raises:
            BlobsUnusable: The storage cannot be written.
        """
        name: str | None = None
        for turn in turns:
            kept = turn.model_copy(update={"parent": name})
            name = await self._conversations.add(kept, self._within)
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
        return await result_parts(latest.calls, results, self.value)

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
        name, seen = self._asked.head, set[str]()
        while name is not None:
            turn = await self._conversations.turn(name, self._within)
            if turn.opening is not None and turn.opening not in seen:
                seen.add(turn.opening)
                if (await self.opening(turn.opening)).agent == agent:
                    return turn.opening
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

    async def add(
        self,
        prompt: str,
        answer: str,
        media: tuple[StoredPart, ...] = (),
        tokens: int | None = None,
    ) -> str:
        """Store this turn, and return its name, from which the next one continues.

        Args:
            prompt: The question.
            answer: The answer.
            media: What the model saw besides the question.
            tokens: Input and output, as the provider counted them.

        Raises:
            BlobsUnusable: The storage cannot be written.
        """
        left = await self.left_results(None, self._asked.left)
        turn = Turn(
            parent=self._asked.head,
            number=self.number,
            prompt=prompt,
            answer=answer,
            tokens=tokens,
            left=content_to_json(left) if left else None,
        )
        if media:
            asked = content_to_json((TextPart(prompt), *media))
            turn = turn.model_copy(update={"prompt": "", "asked": asked})
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
        turn = Turn.of_messages(asked, answered).model_copy(
            update={
                "parent": self._asked.head,
                "number": self.number,
                "opening": opening,
                "continues": continues,
                "tokens": tokens,
                "left": content_to_json(left) if left else None,
            }
        )
        return await self._conversations.add(turn, self._within)
