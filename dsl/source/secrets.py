"""Secrets in plain text: refused before they reach a plan, and so a history."""

import re

from dsl.redaction import KEY_SHAPES
from dsl.source.yaml_reader import Node, Problems
from dsl.values import NodePath
from dsl.wording.document_wording import plain_secret

_SECRETS = re.compile(KEY_SHAPES)


def refuse_secrets(tree: Node, problems: Problems) -> None:
    """Note every text that looks like a key; the message does not repeat it."""
    for node, path in _found(tree, ()):
        problems.note("E602", node.mark, path, plain_secret())


def _found(node: Node, path: NodePath) -> list[tuple[Node, NodePath]]:
    match node.value:
        case str() as text:
            return [(node, path)] if _SECRETS.search(text) else []
        case dict() as entries:
            below = ((key, inner) for key, inner in entries.items())
        case list() as items:
            below = enumerate(items)
        case _:
            return []
    return [found for segment, inner in below for found in _found(inner, (*path, segment))]
