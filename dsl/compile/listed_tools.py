"""The tools of a document as its templates read them: `tools`, for prompts that describe them."""

import re
from collections.abc import Iterator, Mapping

from dsl.model.tools.tool_contract import Tool
from dsl.source.nodes import Node
from dsl.values import Json

_READS = re.compile(r"\{[{%].*\btools\b", re.DOTALL)


def listed_tools(tools: Mapping[str, Tool], tree: Node) -> list[Json] | None:
    """Return `{name, description, input_schema}` of each tool, in the order of the document.

    None if no template can read them, so that the plan does not hold them twice.

    Args:
        tools: all tools, with their schemas.
        tree: the document.
    """
    if not any(_READS.search(text) for text in _texts(tree)):
        return None
    return [
        {
            "name": name,
            "description": tool.description,
            "input_schema": tool.input_schema or {"type": "object"},
        }
        for name, tool in tools.items()
    ]


def _texts(node: Node) -> Iterator[str]:
    match node.value:
        case str() as text:
            yield text
        case dict() as entries:
            for one in entries.values():
                yield from _texts(one)
        case list() as items:
            for one in items:
                yield from _texts(one)
        case _:
            return
