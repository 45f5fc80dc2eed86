"""YAML text -> tree of nodes with file, line and column. The one reader of YAML."""

from dsl.errors import InvalidDocument, Problem
from dsl.source.collected_problems import Problems
from dsl.source.nodes import Node
from dsl.source.yaml_events import (
    CollectionStartEvent,
    MappingStartEvent,
    TextPositions,
    document_events,
)
from dsl.source.yaml_tree import TreeReader
from dsl.wording.yaml_wording import not_a_mapping

REPEATED = "E003"
"""The code of a repeated key: the rest of the document can still be checked."""


def read(text: str, file: str, *, may_be_list: bool = False) -> Node:
    """Return the tree of one YAML document: a mapping, or a list where it may be one.

    Raises:
        InvalidDocument: the text is not YAML, or uses YAML that the language refuses.
    """
    tree, repeated = read_with_repeated(text, file, may_be_list=may_be_list)
    if repeated:
        raise InvalidDocument(repeated)
    return tree


def read_with_repeated(
    text: str, file: str, *, may_be_list: bool = False
) -> tuple[Node, list[Problem]]:
    """Return the tree, and a problem for each repeated key, whose first value counts.

    Raises:
        InvalidDocument: as `read`, for everything else.
    """
    text = text.removeprefix("\ufeff")
    positions = TextPositions(file, text)
    problems = Problems()
    events = document_events(text, positions, problems)
    if events is None:
        raise InvalidDocument(problems.errors)
    allowed = CollectionStartEvent if may_be_list else MappingStartEvent
    if not isinstance(events.root, allowed):
        problems.note("E004", positions.of(0), (), not_a_mapping())
        raise InvalidDocument(problems.errors)
    tree = TreeReader(positions, problems, events).node((), None)
    if any(problem.code != REPEATED for problem in problems.errors):
        raise InvalidDocument(problems.errors)
    return tree, problems.errors
