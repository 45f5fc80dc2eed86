"""Index the texts of a folder for `Retriever.search`, again only what changed since."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from coterie.activities.tool_functions.knowledge.chunks import Chunk, chunks_of
from coterie.activities.tool_functions.knowledge.stores import DocumentStore
from coterie.activities.workspace.file_walk import Entry, walk
from coterie.activities.workspace.globs import Globs
from coterie.activities.workspace.project_files import read_file
from coterie.activities.workspace.text_files import decoded

MAX_FILE_BYTES = 2_000_000
"""Larger files are data, not text that somebody wrote."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """What an update of the index did."""

    added: int
    """Files that are new or changed."""
    unchanged: int
    removed: int
    """Files that are gone or no longer selected."""
    skipped: int
    """Files without readable text."""


def update_index(
    store: DocumentStore,
    folder: Path,
    source: str,
    globs: Globs,
    state: Path,
    now: float,
    seen: Callable[[str, int, int], None],
) -> Indexed:
    """Bring the index of a folder up to date.

    Args:
        store: The open index.
        folder: A folder, or one file.
        source: The name of its texts in results.
        globs: Which files.
        state: The worker's own folder, which is never indexed.
        now: Seconds since 1970.
        seen: Called before a file is embedded: its path, its number among all files, and how many
            these are.
    """
    root = folder.resolve()
    top = root if root.is_dir() else root.parent
    digests = store.digests(source)
    added = unchanged = skipped = 0
    selected: set[str] = set()
    entries = list(walk(top, root, globs, never=state))
    for number, entry in enumerate(entries, 1):
        document = _read_document(top, entry)
        if document is None:
            skipped += 1
            continue
        selected.add(entry.path)
        if digests.get(entry.path) == document.digest:
            unchanged += 1
            continue
        seen(entry.path, number, len(entries))
        store.put(source, entry.path, document.digest, now, document.chunks)
        added += 1
    gone = digests.keys() - selected
    for path in gone:
        store.remove(source, path)
    return Indexed(added, unchanged, len(gone), skipped)


class _Document(NamedTuple):
    """A file with readable text."""

    digest: str
    chunks: Sequence[Chunk]


def _read_document(root: Path, entry: Entry) -> _Document | None:
    """Read a file; None if it is closed, too large, or without readable text."""
    if entry.why_not or entry.bytes > MAX_FILE_BYTES:
        return None
    content = read_file(root, entry.path, MAX_FILE_BYTES)
    text = decoded(content)
    chunks = [] if text is None else list(chunks_of(text))
    return _Document(hashlib.sha256(content).hexdigest(), chunks) if chunks else None
