"""Compile a document that came with a start, in a process of the pool."""

import pickle
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import ConfigDict, TypeAdapter

from coterie.activities.process_pool.work import Work
from coterie.dsl.analysis.findings import with_needs
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Frozen

_CPU_SECONDS = 3
_CHARACTERS_PER_SECOND = 50_000
"""Ten times what documents need on a slow machine."""


class StartedDocument(NamedTuple):
    """The document, after those of the worker that it is merged with."""

    sources: Sequence[SourceText]
    known: Capabilities
    name: str = "inline"
    """Of the plan, if the document gives none."""

    def packed(self) -> bytes:
        """Return it as bytes, which only a process of this worker reads."""
        return pickle.dumps(self)


class CompiledStart(Frozen):
    """Its plan, or why it has none."""

    plan: Plan | None = None
    refused: str = ""
    version: str | None = None
    """The deployed version that it is."""


def cpu_seconds(characters: int) -> int:
    """Return how much CPU the compilation of a document may use, by its size."""
    return _CPU_SECONDS + characters // _CHARACTERS_PER_SECOND


def compile_started(packed: bytes) -> CompiledStart:
    """Compile a document; blocking."""
    document: StartedDocument = pickle.loads(packed)  # made by the worker
    try:
        compiled = compile_sources(document.sources, document.known, name=document.name)
        return CompiledStart(plan=with_needs(compiled).plan)
    except InvalidDocument as error:
        return CompiledStart(refused=problems_text(error))


def problems_text(error: InvalidDocument) -> str:
    """Format the problems as one text for a failed run."""
    lines = [f"the document does not compile ({len(error.problems)} found):"]
    for problem in error.problems:
        at = f"{problem.file}:{problem.line}:{problem.column}"
        fix = f" (fix: {problem.fix})" if problem.fix else ""
        suffix = f"; allowed: {problem.allowed}" if problem.allowed else ""
        lines.append(f"{at}: {problem.message} [{problem.code}]{suffix}{fix}")
    return "\n".join(lines)


COMPILE = Work[bytes, CompiledStart](
    "coterie.worker.started_documents:COMPILE",
    "coterie.worker.started_documents:compile_started",
    TypeAdapter(bytes, config=ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")),
    TypeAdapter(CompiledStart),
    is_start=True,
)
