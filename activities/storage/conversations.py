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

from coterie.activities.storage.blobs import BlobDamaged, Blobs, InheritedBlobs
from coterie.activities.storage.turn_records import Opening, Turn
from coterie.dsl.values import Frozen

_MAX_CACHED = 32_000_000
"""Bytes of turns that a process caches, for all its runs."""

_KEPT_FORKS = 4

Record = TypeVar("Record", bound=Frozen)


class Conversations:
    """The conversations of a worker's runs."""

    def __init__(self, blobs: Blobs, max_cached: int = _MAX_CACHED) -> None:
        """Take the storage, and the bytes of turns that stay in memory."""
        self._blobs = blobs
        self._max_cached = max_cached
        self._forks: OrderedDict[tuple[str, ...], Conversations] = OrderedDict()
        self._read: OrderedDict[str, tuple[Frozen, int]] = OrderedDict()
        self._cached = 0

    def of_run(self, run: str, origins: Sequence[str]) -> "Conversations":
        """Return the conversations that a run can read: a fork also those of its origins.

        A fork has a cache of its own, of what it has read.

        Args:
            run: The run.
            origins: The runs that it was forked from, latest first.
        """
        if not origins:
            return self
        key = (run, *origins)
        conversations = self._forks.pop(key, None) or Conversations(
            InheritedBlobs(self._blobs, origins)
        )
        self._forks[key] = conversations
        if len(self._forks) > _KEPT_FORKS:
            self._forks.popitem(last=False)
        return conversations

    async def turn(self, name: str, within: str) -> Turn:
        """Return the turn of that name.

        Raises:
            BlobMissing: It does not exist.
            BlobDamaged: It is not a turn.
            BlobsUnusable: The storage cannot be reached.
        """
        return await self._record(name, within, Turn, "a turn of a conversation")

    async def opening(self, name: str, within: str) -> Opening:
        """Return the opening of that name.

        Raises:
            BlobMissing: It does not exist.
            BlobDamaged: It is not an opening.
            BlobsUnusable: The storage cannot be reached.
        """
        return await self._record(name, within, Opening, "the opening of a conversation")

    async def value(self, name: str, within: str) -> JsonValue:
        """Return a stored value.

        Raises:
            BlobMissing: It does not exist.
            BlobDamaged: It is not JSON.
            BlobsUnusable: The storage cannot be reached.
        """
        data = await self._blobs.get(name, within)
        try:
            return from_json(data)
        except ValueError:
            raise BlobDamaged(f"the stored value {name[:12]} is not JSON") from None

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
        entry = self._read.get(name)
        if entry is not None and isinstance(entry[0], kind):
            self._read.move_to_end(name)
            return entry[0]
        data = await self._blobs.get(name, within)
        try:
            record = kind.model_validate_json(data)
        except ValidationError:
            raise BlobDamaged(f"the stored value {name[:12]} is not {what}") from None
        self._keep(name, record, len(data))
        return record

    def _keep(self, name: str, record: Frozen, size: int) -> None:
        if name in self._read:
            return
        self._read[name] = record, size
        self._cached += size
        while self._cached > self._max_cached and len(self._read) > 1:
            _, (_, oldest) = self._read.popitem(last=False)
            self._cached -= oldest
