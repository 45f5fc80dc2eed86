"""Index the documentation of installed packages: the README that a package carries."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from email.message import Message
from importlib.metadata import PackageNotFoundError, metadata
from itertools import islice
from typing import NamedTuple, Protocol, cast

from coterie.activities.skills.knowledge.chunks import Chunk, chunks_of
from coterie.activities.workspace.skill_failures import SkillFailure

MAX_TEXT_CHARS = 2_000_000
"""What is beyond is not indexed."""

PATH = "README"
"""The path in results, which is not that of a file."""

_PREFIX = "package "
_PART_CHUNKS = 10


class Part(NamedTuple):
    """Some chunks of a README, stored together: an interrupted search loses no more than these."""

    path: str
    digest: str
    chunks: list[Chunk]


class PackageStore(Protocol):
    """The part of the index that this module uses."""

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


def source_of(package: str) -> str:
    """Return the name of a package's documentation in the index."""
    return f"{_PREFIX}{re.sub(r'[-_.]+', '-', package).lower()}"


def readme_of(package: str) -> str:
    """Return the README of an installed package.

    Raises:
        SkillFailure: The package is not installed, or carries none.
    """
    try:
        # The published types hide that the metadata are a message with a body.
        body = cast("Message", metadata(package)).get_payload()
    except (PackageNotFoundError, ValueError):
        raise SkillFailure(
            f"the package {package!r} is not installed on this worker; name an installed one"
        ) from None
    text = body[:MAX_TEXT_CHARS] if isinstance(body, str) else ""
    if not text.strip():
        raise SkillFailure(f"the package {package!r} carries no documentation; name another one")
    return text


def index_package(store: PackageStore, package: str) -> None:
    """Index a package's README, again only what changed.

    Raises:
        SkillFailure: The package is not installed, or carries no README.
    """
    source, text = source_of(package), readme_of(package)
    known = store.digests(source)
    for part in parts_of(text):
        if known.pop(part.path, None) != part.digest:
            # The age of a document counts only in a memory.
            store.put(source, part.path, part.digest, 0.0, part.chunks)
    for path in known:  # of a longer version
        store.remove(source, path)


def parts_of(text: str) -> Iterator[Part]:
    """Yield the parts of a README in order."""
    for number, chunks in enumerate(batched(chunks_of(text), _PART_CHUNKS), 1):
        content = "\n".join(f"{one.start_line} {one.title}\n{one.text}" for one in chunks)
        digest = hashlib.sha256(content.encode(errors="replace")).hexdigest()
        yield Part(f"{PATH}/{number}", digest, chunks)


def shown_path(source: str, path: str) -> str:
    """Return the path of a document as results have it."""
    return PATH if source.startswith(_PREFIX) else path


def batched(chunks: Iterator[Chunk], size: int) -> Iterator[list[Chunk]]:
    """Yield the chunks in lists of this length; the last may be shorter."""
    while batch := list(islice(chunks, size)):
        yield batch
