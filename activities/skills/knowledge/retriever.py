"""`Retriever.search`: find the passages of indexed texts that fit a question.

`coterie index PATH` fills the index; `packages` adds the documentation of installed packages.
Search and embedding happen on this machine.
"""

from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.skills.knowledge.package_texts import index_package, shown_path
from coterie.activities.skills.knowledge.stores import INDEX_FILE, opened
from coterie.activities.threads.run_threads import SKILL_THREADS
from coterie.activities.workspace.skill_base import Skill, SkillContext
from coterie.activities.workspace.skill_failures import SkillFailure
from coterie.dsl.values import Documented

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


async def search_passages(value: RetrieverInput, context: SkillContext) -> Passages:
    """Search the index.

    Raises:
        SkillFailure: Nothing is indexed, or a package is not installed.
    """
    file = context.workspace.state_dir / INDEX_FILE
    return Passages(passages=await SKILL_THREADS.run(_find_passages, file, value))


def _find_passages(file: Path, value: RetrieverInput) -> list[Passage]:
    if not file.exists() and not value.packages:
        raise SkillFailure("nothing is indexed here; run `coterie index PATH` first")
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


RETRIEVE = Skill[RetrieverInput, Passages](
    name="Retriever.search",
    description="Finds passages of the indexed texts that fit a question.",
    effect="read",
    input=TypeAdapter(RetrieverInput),
    output=TypeAdapter(Passages),
    run=search_passages,
    timeout=60.0,
    errors={
        FailureType.SKILL_REFUSED: "the query is blank or too long",
        FailureType.SKILL_FAILED: "nothing is indexed, a package is not installed, or the worker "
        "lacks the packages of `coterie[retrieval]`",
    },
    labels=("private",),
)
