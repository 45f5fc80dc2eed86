"""Validate persona files without a document that uses them."""

from collections.abc import Sequence
from pathlib import Path

from coterie.documents.catalog import Catalog, Located
from coterie.documents.product_capabilities import capabilities
from dsl.compile.compiler import compile_sources
from dsl.compile.merged_sources import SourceText
from dsl.errors import InvalidDocument, Problem
from dsl.model.document import SystemDocument
from dsl.model.steps import PersonaDocument
from dsl.source.nodes import Node
from dsl.source.yaml_reader import read

_TELLING = ("prompts", "execution_plan", "prompt_syntax", "output_schema")
"""Keys that only personas have, and documents do not."""

_BESIDE = SourceText(
    file="a document beside it",
    text="orchestration: {entry_team: t, teams: {t: {tasks: "
    "[{name: s, type: wait, duration: 1}]}}}",
)
"""The smallest document that a persona can be compiled with; it uses no persona."""


def is_persona(file: Path) -> bool:
    """Return whether a file contains a persona: by its folder, else by its keys."""
    try:
        keys = _keys(read(file.read_text(encoding="utf-8"), file.name))
    except (InvalidDocument, OSError, UnicodeDecodeError):
        return file.parent.name == "personas"
    if keys & SystemDocument.model_fields.keys() - PersonaDocument.model_fields.keys() - {"name"}:
        return False
    return file.parent.name == "personas" or bool(keys & set(_TELLING))


def _keys(tree: Node) -> set[str]:
    return set(tree.entries())


def persona_problems(catalog: Catalog, located: Located) -> Sequence[Problem]:
    """Return every problem of the persona itself."""
    system = () if located.root is None else catalog.system_source(located.root)
    try:
        sources = (*system, catalog.persona_source(located.file), _BESIDE, *catalog.override())
        found: Sequence[Problem] = compile_sources(
            sources, capabilities(), name=located.name
        ).warnings
    except InvalidDocument as error:
        found = error.problems
    shown = catalog.shown(located.file)
    return [problem for problem in found if problem.file == shown]
