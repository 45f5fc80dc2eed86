"""Open a store of chunks, with the packages that it needs."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from coterie.activities.tool_functions.knowledge.chunks import Chunk
from coterie.activities.tool_functions.missing_packages import needing

if TYPE_CHECKING:
    from coterie.activities.tool_functions.knowledge.chunk_store import ChunkStore

INDEX_FILE = Path("knowledge") / "index.db"
"""The index of texts, below the worker's state."""


class DocumentStore(Protocol):
    """What those who fill an index need of it."""

    def digests(self, source: str) -> dict[str, str]:
        """Return `{path: digest}` of the documents of a source."""
        ...

    def put(
        self, source: str, path: str, digest: str, added: float, chunks: Sequence[Chunk]
    ) -> None:
        """Store a document in place of its former version."""
        ...

    def remove(self, source: str, path: str) -> bool:
        """Delete a document; return whether it existed."""
        ...


@contextmanager
def opened(file: Path, user: str) -> "Generator[ChunkStore]":
    """Open a store; create it if missing. Blocking: SQLite, and once the model.

    Args:
        file: Its file.
        user: The tool function or command that needs it, for the message.

    Raises:
        FunctionFailure: Packages are missing.
    """
    with needing("retrieval", user):
        from coterie.activities.tool_functions.knowledge.chunk_store import open_store
        from coterie.activities.tool_functions.knowledge.embedding import embedder
    with open_store(file, embedder().embed) as store:
        yield store
