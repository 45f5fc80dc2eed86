"""Validate persona files without a document that uses them."""

from collections.abc import Sequence

from coterie.documents.catalog import Catalog, Located
from coterie.documents.product_capabilities import capabilities
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument, Problem

_BESIDE = SourceText(
    file="a document beside it",
    text="orchestration: {entry_team: t, teams: {t: {tasks: "
    "[{name: s, type: wait, duration: 1}]}}}",
)
"""The smallest document that a persona can be compiled with; it uses no persona."""


def persona_problems(catalog: Catalog, located: Located) -> Sequence[Problem]:
    """Return every problem of the persona itself."""
    system = () if located.root is None else catalog.system_source(located.root)
    try:
        sources = (*system, catalog.persona_source(located.file), _BESIDE, *catalog.override())
        problems: Sequence[Problem] = compile_sources(
            sources, capabilities(), name=located.name
        ).warnings
    except InvalidDocument as error:
        problems = error.problems
    file_name = catalog.shown(located.file)
    return [problem for problem in problems if problem.file == file_name]
