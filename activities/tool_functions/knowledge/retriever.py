"""`Retriever.search`: find the passages of indexed texts that fit a question.

`coterie index PATH` fills the index; `packages` adds the documentation of installed packages.
Search and embedding happen on this machine.
"""

import hashlib
import re
from collections.abc import Iterator
from email.message import Message
from importlib.metadata import PackageNotFoundError, metadata
from itertools import islice
from pathlib import Path
from typing import Annotated, NamedTuple, cast

from pydantic import Field, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.tool_functions.knowledge.chunks import Chunk, chunks_of
from coterie.activities.tool_functions.knowledge.stores import INDEX_FILE, DocumentStore, opened
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction
from coterie.activities.workspace.function_failures import FunctionFailure
from coterie.dsl.values import Documented

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


def source_of(package: str) -> str:
    """Return the name of a package's documentation in the index."""
    return f"{_PREFIX}{re.sub(r'[-_.]+', '-', package).lower()}"


def readme_of(package: str) -> str:
    """Return the README of an installed package.

    Raises:
        FunctionFailure: The package is not installed, or carries none.
    """
    try:
        # The published types hide that the metadata are a message with a body.
        body = cast("Message", metadata(package)).get_payload()
    except (PackageNotFoundError, ValueError):
        raise FunctionFailure(
            f"the package {package!r} is not installed on this worker; name an installed one"
        ) from None
    text = body[:MAX_TEXT_CHARS] if isinstance(body, str) else ""
    if not text.strip():
        raise FunctionFailure(f"the package {package!r} carries no documentation; name another one")
    return text


def index_package(store: DocumentStore, package: str) -> None:
    """Index a package's README, again only what changed.

    Raises:
        FunctionFailure: The package is not installed, or carries no README.
    """
    source, text = source_of(package), readme_of(package)
    digests = store.digests(source)
    for part in parts_of(text):
        if digests.pop(part.path, None) != part.digest:
            # The age of a document counts only in a memory.
            store.put(source, part.path, part.digest, 0.0, part.chunks)
    for path in digests:  # of a longer version
        store.remove(source, path)


def parts_of(text: str) -> Iterator[Part]:
    """Yield the parts of a README in order."""
    for number, chunks in enumerate(batched(chunks_of(text), _PART_CHUNKS), 1):
        content = "\n".join(f"{chunk.start_line} {chunk.title}\n{chunk.text}" for chunk in chunks)
        digest = hashlib.sha256(content.encode(errors="replace")).hexdigest()
        yield Part(f"{PATH}/{number}", digest, chunks)


def shown_path(source: str, path: str) -> str:
    """Return the path of a document as results have it."""
    return PATH if source.startswith(_PREFIX) else path


def batched(chunks: Iterator[Chunk], size: int) -> Iterator[list[Chunk]]:
    """Yield the chunks in lists of this length; the last may be shorter."""
    while batch := list(islice(chunks, size)):
        yield batch


PackageName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


class RetrieverInput(Documented):
    """What to look for."""

    query: str = Field(min_length=1, max_length=5000, pattern=r"\S")
    """A question or keywords; about the first 250 words count."""
    top_k: int = Field(default=5, ge=1, le=20)
    """Passages to return."""
    min_score: float = Field(default=0.0, ge=0, le=1)
    """Leave out passages with a lower score."""
    sources: tuple[str, ...] = Field(default=(), max_length=50)
    """Only texts of these sources, as `coterie index` named them; empty for all."""
    packages: tuple[PackageName, ...] = Field(default=(), max_length=10)
    """Installed Python packages whose documentation is searched, too; indexed at first use."""


class Passage(Documented):
    """A passage of an indexed text."""

    source: str
    """The name of the indexed folder."""
    path: str
    """The file, relative to that folder."""
    start_line: int
    """Its first line, from 1."""
    end_line: int
    """Its last line."""
    title: str
    """The heading above it, or the definition around it; may be empty."""
    text: str
    """The passage."""
    score: float
    """How similar it is in meaning to the query, from 0 to 1."""


class Passages(Documented):
    """The passages."""

    passages: list[Passage]
    """The best first: by meaning, and for names by words."""


async def search_passages(value: RetrieverInput, context: FunctionContext) -> Passages:
    """Search the index.

    Raises:
        FunctionFailure: Nothing is indexed, or a package is not installed.
    """
    file = context.workspace.state_dir / INDEX_FILE
    return Passages(passages=await FUNCTION_THREADS.run(_find_passages, file, value))


def _find_passages(file: Path, value: RetrieverInput) -> list[Passage]:
    if not file.exists() and not value.packages:
        raise FunctionFailure("nothing is indexed here; run `coterie index PATH` first")
    with opened(file, "Retriever.search") as store:
        for package in value.packages:
            index_package(store, package)
        hits = store.search(value.query, value.top_k, value.sources)
    return [
        Passage(
            source=hit.source,
            path=shown_path(hit.source, hit.path),
            start_line=hit.chunk.start_line,
            end_line=hit.chunk.end_line,
            title=hit.chunk.title,
            text=hit.chunk.text,
            score=hit.score,
        )
        for hit in hits
        if hit.score >= value.min_score
    ]


RETRIEVE = ToolFunction[RetrieverInput, Passages](
    name="Retriever.search",
    description="Finds passages of the indexed texts that fit a question.",
    effect="read",
    input=TypeAdapter(RetrieverInput),
    output=TypeAdapter(Passages),
    run=search_passages,
    timeout=60.0,
    errors={
        FailureType.FUNCTION_REFUSED: "the query is blank or too long",
        FailureType.FUNCTION_FAILED: "nothing is indexed, a package is not installed, or the "
        "worker lacks the packages of `coterie[retrieval]`",
    },
    labels=("private",),
)
