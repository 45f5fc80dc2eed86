"""The tools of a document as the plan keeps them: for its calls, and for templates.

Templates read `tools` in prompts that describe them.
"""

import re
from collections.abc import Collection, Iterator, Mapping

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


def without_unread_schemas(tools: Mapping[str, Tool], offered: Collection[str]) -> dict[str, Tool]:
    """Drop the schemas of skills and MCP tools that no model may call: every history has the plan.

    Args:
        tools: All tools of the document.
        offered: The names of those that some model may call.
    """
    return {
        name: tool.model_copy(update={"input_schema": None})
        if (tool.skill is not None or tool.mcp is not None) and name not in offered
        else tool
        for name, tool in tools.items()
    }


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
