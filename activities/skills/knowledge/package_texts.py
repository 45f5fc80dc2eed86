"""Index the documentation of installed packages: the README that a package carries."""

import hashlib
import re
from collections.abc import Sequence
from email.message import Message
from importlib.metadata import PackageNotFoundError, metadata
from typing import Protocol, cast

from activities.skills.knowledge.chunks import Chunk, chunks_of
from activities.workspace.skill_base import SkillFailure

MAX_TEXT_CHARS = 2_000_000
"""What is beyond is not indexed."""

PATH = "README"
"""The path in results, which is not that of a file."""


class PackageStore(Protocol):
    """What is needed of the index."""

    def digests(self, source: str) -> dict[str, str]:
        """Return `{path: digest}` of the documents of a source."""
        ...

    def put(
        self, source: str, path: str, digest: str, added: float, chunks: Sequence[Chunk]
    ) -> None:
        """Store a document in place of its former version."""
        ...


def source_of(package: str) -> str:
    """Return the name of a package's documentation in the index."""
    return f"package {re.sub(r'[-_.]+', '-', package).lower()}"


def index_package(store: PackageStore, package: str) -> None:
    """Index a package's README, unless the index has it as it is.

    Raises:
        SkillFailure: The package is not installed, or carries no README.
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
    source, digest = source_of(package), hashlib.sha256(text.encode(errors="replace")).hexdigest()
    if store.digests(source).get(PATH) != digest:
        # The age of a document counts only in a memory.
        store.put(source, PATH, digest, 0.0, list(chunks_of(text)))
