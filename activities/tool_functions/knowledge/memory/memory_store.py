"""What agents remember: one interface for the stores of memories, and the types that pass it.

A store never chooses whose memory it reads or writes: each call names the owner, and a statement
without an owner is only for people who list or forget.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from coterie.activities.tool_functions.knowledge.chunks import Chunk
from coterie.dsl.model.memory_terms import MemoryScope

MAX_ENTRIES = 10_000
"""Of one topic of one memory; the oldest go first."""

MAX_TOPICS = 200
"""Of one memory."""

MAX_SWEPT = 100
"""Expired entries that storing one deletes."""

MAX_LISTED = 10_000
"""Entries that one list has."""

Embed = Callable[[str], bytes]
"""Returns the vector of a text, as 32-bit floats."""


class Owner(NamedTuple):
    """Whose memory it is."""

    scope: MemoryScope
    name: str
    """Of the team or the user; empty for the project."""


class NewMemory(NamedTuple):
    """An entry to store, cut into chunks."""

    topic: str
    id: str
    digest: str
    text: str
    chunks: Sequence[Chunk]
    stored: float
    """Seconds since 1970."""
    expires: float | None
    """Seconds since 1970; None: never."""
    untrusted: bool
    """Whether its run had met text of others."""
    run: str
    """The id of the run that stored it."""


class StoreReceipt(NamedTuple):
    """What storing an entry did."""

    replaced: bool
    """Whether there was an entry with this id."""
    forgotten: int
    """Oldest entries that the topic lost because it was full."""


class FoundMemory(NamedTuple):
    """The best chunk of an entry that fits a query."""

    topic: str
    id: str
    text: str
    stored: float
    score: float
    """Similarity of meaning, from 0 to 1."""


class ListedMemory(NamedTuple):
    """An entry, for people."""

    owner: Owner
    topic: str
    id: str
    text: str
    stored: float
    expires: float | None
    untrusted: bool
    run: str


class MemoryFilter(NamedTuple):
    """Which entries people list or forget; all parts hold together, and empty ones for all."""

    scope: MemoryScope | None = None
    name: str | None = None
    topic: str | None = None
    ids: tuple[str, ...] = ()
    expired: bool = False
    """Only entries that have expired. Otherwise a list leaves these out."""


class TooManyTopics(Exception):
    """The memory has as many topics as it may have, and the entry is of another one."""


class MemoryStore(Protocol):
    """One open store. Blocking.

    Its methods raise OSError if the store cannot be reached now, and FunctionFailure if it cannot
    be used.
    """

    @property
    def location(self) -> str:
        """Where it is, for people, without secrets."""
        ...

    def put(self, owner: Owner, entry: NewMemory) -> StoreReceipt:
        """Store an entry in place of the one with its id, all or nothing; drop expired ones.

        Raises:
            TooManyTopics: The memory has no room for another topic.
        """
        ...

    def search(
        self, owner: Owner, query: str, topics: Sequence[str], limit: int, now: float
    ) -> list[FoundMemory]:
        """Return the entries of a memory that fit a query, the best first, without expired ones.

        Args:
            owner: Of the memory.
            query: Any text.
            topics: Only these; empty for all.
            limit: Entries to return.
            now: Seconds since 1970.
        """
        ...

    def entries(self, chosen: MemoryFilter, limit: int, now: float) -> list[ListedMemory]:
        """Return entries, the newest first."""
        ...

    def forget(self, chosen: MemoryFilter, now: float) -> int:
        """Delete entries for good; return their number."""
        ...
