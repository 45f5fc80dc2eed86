"""`Memory.store` and `Memory.search`: what agents of a project remember across runs.

Entries are found by meaning. A call with the same text or the same name replaces its entry, so it
may be repeated.
"""

import hashlib
import time
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.storage.absences import outlast_absence
from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.tool_functions.knowledge.chunks import chunks_of
from coterie.activities.tool_functions.knowledge.stores import MEMORY_FILE, opened
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction
from coterie.dsl.values import Documented

MAX_ENTRIES = 10_000
"""Of one topic; the oldest go first."""

_ERRORS = {
    FailureType.FUNCTION_REFUSED: "the text is blank or too long",
    FailureType.FUNCTION_FAILED: "the worker lacks the packages of `coterie[retrieval]`",
}
_TOPIC = r"^[A-Za-z0-9][\w.:/-]{0,99}$"


class MemoryEntry(Documented):
    """What to remember."""

    text: str = Field(min_length=1, max_length=8000, pattern=r"\S")
    """A fact, a decision, an experience."""
    topic: str = Field(default="general", pattern=_TOPIC)
    """Where it belongs; searches can name topics."""
    name: str | None = Field(default=None, min_length=1, max_length=200)
    """Replaces the entry with this name; without a name, the same text replaces itself."""


class StoredMemory(Documented):
    """The entry as stored."""

    id: str
    """Its name, or the hash of its text."""
    topic: str
    """Its topic."""
    replaced: bool
    """Whether there was an entry with this id."""
    forgotten: int
    """Oldest entries that the topic lost because it has more than 10,000."""


class MemoryQuery(Documented):
    """What to recall."""

    query: str = Field(min_length=1, max_length=5000, pattern=r"\S")
    """A question or keywords."""
    topics: tuple[str, ...] = Field(default=(), max_length=50)
    """Only these topics; empty for all."""
    max_results: int = Field(default=5, ge=1, le=20)
    """Entries to return."""
    min_score: float = Field(default=0.0, ge=0, le=1)
    """Leave out entries with a lower score."""


class RecalledMemory(Documented):
    """An entry that fits."""

    id: str
    """Its name, or the hash of its text."""
    topic: str
    """Its topic."""
    text: str
    """What was stored; for a long entry, the part that fits."""
    stored: str
    """When, in ISO 8601."""
    score: float
    """How similar it is in meaning to the query, from 0 to 1."""


class RecalledMemories(Documented):
    """What is remembered."""

    memories: list[RecalledMemory]
    """The best first; empty if nothing was stored."""


async def store_memory(value: MemoryEntry, context: FunctionContext) -> StoredMemory:
    """Store an entry.

    Raises:
        FunctionFailure: Packages are missing.
    """
    file = context.workspace.state_dir / MEMORY_FILE
    return await outlast_absence(lambda: FUNCTION_THREADS.run(_store_memory, file, value))


def _store_memory(file: Path, value: MemoryEntry) -> StoredMemory:
    digest = hashlib.sha256(value.text.encode()).hexdigest()
    entry = value.name or digest[:16]
    with opened(file, "Memory.store") as store:
        digests = store.digests(value.topic)
        if digests.get(entry) != digest:
            chunks = list(chunks_of(value.text))
            store.put(value.topic, entry, digest, time.time(), chunks)
        old = store.beyond(value.topic, MAX_ENTRIES)
        for path in old:
            store.remove(value.topic, path)
    return StoredMemory(id=entry, topic=value.topic, replaced=entry in digests, forgotten=len(old))


async def search_memory(value: MemoryQuery, context: FunctionContext) -> RecalledMemories:
    """Find entries.

    Raises:
        FunctionFailure: Packages are missing.
    """
    file = context.workspace.state_dir / MEMORY_FILE
    return RecalledMemories(memories=await FUNCTION_THREADS.run(_recall_memories, file, value))


def _recall_memories(file: Path, value: MemoryQuery) -> list[RecalledMemory]:
    if not file.exists():
        return []
    with opened(file, "Memory.search") as store:
        hits = store.search(value.query, 2 * value.max_results, value.topics)
    entries = {(hit.source, hit.path): hit for hit in reversed(hits)}  # the best part of each
    best = sorted(entries.values(), key=hits.index)[: value.max_results]
    return [
        RecalledMemory(
            id=hit.path,
            topic=hit.source,
            text=hit.chunk.text,
            stored=datetime.fromtimestamp(hit.added, UTC).isoformat(timespec="seconds"),
            score=hit.score,
        )
        for hit in best
        if hit.score >= value.min_score
    ]


STORE_MEMORY = ToolFunction[MemoryEntry, StoredMemory](
    name="Memory.store",
    description="Remembers a text for later runs of this project.",
    effect="idempotent",
    input=TypeAdapter(MemoryEntry),
    output=TypeAdapter(StoredMemory),
    run=store_memory,
    timeout=60.0,
    errors=_ERRORS,
)

SEARCH_MEMORY = ToolFunction[MemoryQuery, RecalledMemories](
    name="Memory.search",
    description="Recalls what earlier runs of this project remembered.",
    effect="read",
    input=TypeAdapter(MemoryQuery),
    output=TypeAdapter(RecalledMemories),
    run=search_memory,
    timeout=60.0,
    errors=_ERRORS,
    labels=("private", "untrusted"),
)
