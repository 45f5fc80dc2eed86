"""`Memory.store` and `Memory.search`: what agents remember across runs.

Entries are found by meaning. A call with the same text or the same name replaces its entry, so it
may be repeated. Whose memory it is, the document says (`memory`): no input can choose another one.
"""

import hashlib
import time
from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.storage.absences import outlast_absence
from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.tool_functions.knowledge.chunks import chunks_of
from coterie.activities.tool_functions.knowledge.memory.memory_store import (
    MAX_TOPICS,
    NewMemory,
    Owner,
    TooManyTopics,
)
from coterie.activities.tool_functions.knowledge.memory.opened_memory import (
    has_memories,
    opened_memory,
)
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction
from coterie.activities.workspace.function_failures import FunctionRefusal
from coterie.dsl.values import Documented
from coterie.dsl.visible import is_unicode

_ERRORS = {
    FailureType.FUNCTION_REFUSED: "the text is blank or too long, the memory is full of topics, or "
    "it is that of a user and the run has none",
    FailureType.FUNCTION_FAILED: "the worker lacks the packages of `coterie[retrieval]`, or its "
    "database cannot be used",
}
Topic = Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.:/-]{0,99}$")]


class MemoryEntry(Documented):
    """What to remember."""

    text: str = Field(min_length=1, max_length=8000, pattern=r"\S")
    """A fact, a decision, an experience."""
    topic: Topic = "general"
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
    topics: tuple[Topic, ...] = Field(default=(), max_length=50)
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
    """Store an entry in the memory of the call.

    Raises:
        FunctionRefusal: The run has no user, or the memory has no room for another topic.
        FunctionFailure: Packages are missing, or the database cannot be used.
    """
    owner = _owner(context)
    _check_text(value.text, value.name or "")
    return await outlast_absence(lambda: FUNCTION_THREADS.run(_store_memory, context, owner, value))


def _store_memory(context: FunctionContext, owner: Owner, value: MemoryEntry) -> StoredMemory:
    digest = hashlib.sha256(value.text.encode()).hexdigest()
    now, expires = time.time(), context.memory.expires
    entry = NewMemory(
        topic=value.topic,
        id=value.name or digest[:16],
        digest=digest,
        text=value.text,
        chunks=list(chunks_of(value.text)),
        stored=now,
        expires=None if expires is None else now + expires,
        untrusted=context.untrusted,
        run=context.run,
    )
    with opened_memory(context.workspace, "Memory.store") as store:
        try:
            receipt = store.put(owner, entry)
        except TooManyTopics:
            raise FunctionRefusal(
                f"this memory has {MAX_TOPICS} topics, the most that one may have; use one of them"
            ) from None
    return StoredMemory(
        id=entry.id, topic=value.topic, replaced=receipt.replaced, forgotten=receipt.forgotten
    )


async def search_memory(value: MemoryQuery, context: FunctionContext) -> RecalledMemories:
    """Find entries in the memory of the call.

    Raises:
        FunctionRefusal: The run has no user.
        FunctionFailure: Packages are missing, or the database cannot be used.
    """
    owner = _owner(context)
    _check_text(value.query)
    memories = await FUNCTION_THREADS.run(_recall_memories, context, owner, value)
    return RecalledMemories(memories=memories)


def _recall_memories(
    context: FunctionContext, owner: Owner, value: MemoryQuery
) -> list[RecalledMemory]:
    if not has_memories(context.workspace):
        return []
    with opened_memory(context.workspace, "Memory.search") as store:
        found = store.search(owner, value.query, value.topics, value.max_results, time.time())
    return [
        RecalledMemory(
            id=memory.id,
            topic=memory.topic,
            text=memory.text,
            stored=datetime.fromtimestamp(memory.stored, UTC).isoformat(timespec="seconds"),
            score=memory.score,
        )
        for memory in found
        if memory.score >= value.min_score
    ]


def _owner(context: FunctionContext) -> Owner:
    """Return whose memory the document has chosen.

    Raises:
        FunctionRefusal: It is that of the user, and the run has none.
    """
    memory = context.memory
    if memory.scope != "project" and not memory.name:
        raise FunctionRefusal(
            f"this call uses the memory of the {memory.scope}, and its run has no {memory.scope}; "
            "a run has the user that `orchestration.user` of its document names"
        )
    return Owner(memory.scope, memory.name)


def _check_text(*texts: str) -> None:
    """Refuse what no database stores."""
    if not all(is_unicode(text) and "\0" not in text for text in texts):
        raise FunctionRefusal("a text has a NUL or a half of a character; leave it out")


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
