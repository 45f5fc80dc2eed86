"""The files of a document, read and merged into one tree."""

from collections.abc import Sequence
from typing import NamedTuple

from dsl.compile.included_parts import included_part, joined
from dsl.errors import UNREADABLE, InvalidDocument, Problem
from dsl.source.collected_problems import Problems
from dsl.source.nodes import Mark, Node, overlaid
from dsl.source.yaml_reader import read_with_repeated
from dsl.wording.document_wording import decided_by_worker
from dsl.wording.include_wording import include_inline
from dsl.wording.yaml_wording import no_document


class SourceText(NamedTuple):
    """One file of a document."""

    file: str
    text: str
    trusted: bool = True
    """False for a file that came with a run: it must not configure the worker's access to the
    world.
    """
    persona: str | None = None
    """The key of the persona, if the file is one."""
    included: bool = False
    """Whether another file includes it: the next source with `included=False`, maybe indirectly."""
    problems: tuple[Problem, ...] = ()
    """Found while reading the files that this one includes."""


def merged_sources(sources: Sequence[SourceText], problems: Problems) -> Node:
    """Read every file and merge it over the earlier ones.

    Raises:
        InvalidDocument: a file is not readable YAML, or there is no file.
    """
    merged: Node | None = None
    layer: Node | None = None
    for source in sources:
        problems.found.extend(source.problems)
        try:
            tree, repeated = read_with_repeated(source.text, source.file)
            problems.found.extend(repeated)
        except InvalidDocument as error:
            problems.found.extend(error.problems)
            continue
        if source.persona is not None:
            for key in (source.persona, "personas", "llm_config"):
                tree = Node({key: tree}, tree.mark)
        if not source.trusted:
            _refuse_untrusted(tree, problems)
        if source.included:
            tree = included_part(tree, problems)
        layer = tree if layer is None else joined(layer, tree, problems)
        if not source.included:
            merged = layer if merged is None else overlaid(merged, layer)
            layer = None
    if problems.errors and (
        merged is None or any(problem.code in UNREADABLE for problem in problems.errors)
    ):
        raise InvalidDocument(problems.errors)
    if merged is None:
        problems.note("E004", Mark("document", 1, 1), (), no_document())
        raise InvalidDocument(problems.errors)
    return merged


def _refuse_untrusted(tree: Node, problems: Problems) -> None:
    for path in (("worker",), ("llm_config", "providers")):
        node = tree.get(path)
        if node is not None:
            problems.note("E601", node.at, path, decided_by_worker(".".join(path)))
    include = tree.child("include")
    if include is not None:
        problems.note("E601", include.at, ("include",), include_inline())
