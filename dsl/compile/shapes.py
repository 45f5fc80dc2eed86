"""Shapes: validates the tree against the document models, and reports each mismatch in place.

Each mismatch is reported once and then removed from the tree, so that the rest becomes a typed
document and its references can be checked in the same pass.
"""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from coterie.dsl.compile.shape_problems import ShapeProblem
from coterie.dsl.model.document import SystemDocument
from coterie.dsl.model.steps import PersonaDocument
from coterie.dsl.problem_texts import key_meant
from coterie.dsl.source.author_paths import name_of_path
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import NodePath, Segment

_MAX_PASSES = 50
Document = TypeVar("Document", bound=BaseModel)


def parse_document(tree: Node, problems: Problems) -> tuple[SystemDocument | None, Node]:
    """Return the typed document, and the tree without the mismatches."""
    PersonaDocument.model_rebuild()  # first: the validator of the document contains it
    return parse_as(tree, SystemDocument, problems)


def parse_as(tree: Node, model: type[Document], problems: Problems) -> tuple[Document | None, Node]:
    """Return the tree as a document of any model, and report each mismatch."""
    reported = False
    problems.step_of = partial(name_of_path, tree)
    for _ in range(_MAX_PASSES):
        try:
            text = json.dumps(tree.plain())
            # by alias alone: `while_` is the key's name in Python, not in a document
            return model.model_validate_json(text, strict=True, by_alias=True, by_name=False), tree
        except ValidationError as error:
            candidates = [
                ShapeProblem(details, model) for details in error.errors(include_url=False)
            ]
            mismatches = [mismatch for mismatch in candidates if not mismatch.follows(tree)]
            if not reported:
                for mismatch in _each_once(mismatches, tree):
                    mismatch.report(tree, problems)
            before = tree
            repairs = {
                mismatch.repair_path(tree): mismatch.stand_in(tree) for mismatch in mismatches
            }
            problems.took_out([path for path, put in repairs.items() if put is None])
            tree = _repaired_tree(tree, repairs)
            reported = True
            problems.step_of = partial(name_of_path, tree)
            if tree == before:
                break
    return None, tree


def _each_once(mismatches: list["ShapeProblem"], tree: Node) -> Iterator["ShapeProblem"]:
    """Yield each mistake once: a misspelled key is not also a missing one."""
    misspelt: set[NodePath] = set()
    reported: set[NodePath] = set()
    for mismatch in mismatches:
        if mismatch.kind == "extra_forbidden":
            likely_key = key_meant(mismatch.facts(tree, tree.find(mismatch.path)))
            if likely_key is not None:
                misspelt.add((*mismatch.path[:-1], likely_key))
    for mismatch in mismatches:
        is_misspelt = mismatch.kind == "missing" and mismatch.path in misspelt
        if mismatch.path in reported or (is_misspelt and not mismatch.of_other_form):
            continue
        reported.add(mismatch.path)
        yield mismatch


def _repaired_tree(tree: Node, repairs: Mapping[NodePath, Node | None]) -> Node:
    """Return the tree with the node at each path replaced, or removed; a path `()` is ignored.

    What is above another path decides: nothing of the old value is left there.
    """
    below: dict[Segment, dict[NodePath, Node | None]] = {}
    for path, put in repairs.items():
        if path:
            below.setdefault(path[0], {})[path[1:]] = put

    def repaired(segment: Segment, node: Node) -> Node | None:
        own = below.get(segment)
        if own is None:
            return node
        return own[()] if () in own else _repaired_tree(node, own)

    match tree.value:
        case dict() as entries:
            new_entries = {key: repaired(key, node) for key, node in entries.items()}
            added = {key: own.get(()) for key, own in below.items() if key not in entries}
            put_in = {**new_entries, **{str(key): node for key, node in added.items()}}
            return tree.with_value({key: node for key, node in put_in.items() if node is not None})
        case list() as items:
            new_items = (repaired(index, node) for index, node in enumerate(items))
            return tree.with_value([node for node in new_items if node is not None])
        case _:
            return tree
