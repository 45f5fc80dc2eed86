"""The constant tools of an agent that finds its other tools by search, and their results. Pure.

What a model finds stands in the result of its search, and one constant tool calls it. So the tools
of a conversation never change, and the prefix that a provider keeps in its cache stays.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from coterie.dsl.errors import closest, in_order
from coterie.dsl.model.tools.tool_contract import Tool
from coterie.dsl.model.tools.tool_use import CALL_FOUND, TOOL_SEARCH
from coterie.dsl.tool_loop.carried_calls import carried_call
from coterie.dsl.tool_loop.exchange import OfferedTool, ToolCallRequest
from coterie.dsl.tool_loop.tool_ranking import SearchedTool, ToolIndex
from coterie.dsl.values import Json
from coterie.dsl.visible import shortened_text

MAX_FOUND = 5
"""Tools that one search finds."""
_MAX_QUERY = 500
_MAX_RESULT = 24_000
"""Characters of a result; tools that do not fit come without their schemas."""
_MAX_DESCRIPTION = 1_000
_MAX_SOURCES = 20
ANY_OBJECT: Json = {"type": "object"}

SCHEMAS: Mapping[str, Json] = {
    TOOL_SEARCH: {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "What the tool must do, in a few words: verb, object, details.",
            }
        },
        "required": ["query"],
        "additionalProperties": False,
    },
    CALL_FOUND: {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The name of the tool, as found."},
            "arguments": {
                "type": "object",
                "description": "Its arguments, by the schema that was found.",
            },
        },
        "required": ["name", "arguments"],
        "additionalProperties": False,
    },
}
"""`{constant tool: the schema of its arguments}`."""


class SearchAnswer(NamedTuple):
    """What a search found."""

    query: str
    found: tuple[str, ...]
    text: str
    """As the model gets it."""


def found_call(call: ToolCallRequest) -> ToolCallRequest:
    """Return a call under the name of its real tool: `call_found` only carries another call."""
    if call.tool != CALL_FOUND or call.problem is not None:
        return call
    return carried_call(CALL_FOUND, call.arguments.get("name"), call.arguments.get("arguments"))


def constant_tools(deferred: Sequence[str], tools: Mapping[str, Tool]) -> tuple[OfferedTool, ...]:
    """Return the constant tools as a model sees them; none where it finds nothing by search.

    Args:
        deferred: The names of the tools that it finds by search.
        tools: Of the plan.
    """
    if not deferred:
        return ()
    sources = in_order(_sources(deferred, tools))
    search = (
        f"Finds tools: {len(deferred):,} more than you see here ({sources}). Returns up to "
        f"{MAX_FOUND} with their descriptions and the schemas of their arguments. Call them by "
        f"{CALL_FOUND}. If none fits, search again in other words."
    )
    call = f"Calls a tool that {TOOL_SEARCH} has found, and returns its result."
    return (
        OfferedTool(name=TOOL_SEARCH, description=search, input_schema=SCHEMAS[TOOL_SEARCH]),
        OfferedTool(name=CALL_FOUND, description=call, input_schema=SCHEMAS[CALL_FOUND]),
    )


class ToolCatalog:
    """The tools that one agent finds by search."""

    def __init__(self, deferred: Sequence[str], tools: Mapping[str, Tool]) -> None:
        self._tools = {
            name: SearchedTool(
                name, tools[name].description, tools[name].input_schema or ANY_OBJECT
            )
            for name in deferred
            if name in tools
        }
        self._index: ToolIndex | None = None

    def search(self, query: str) -> SearchAnswer:
        """Return the tools that fit best; a tool's own name finds it first."""
        query = query[:_MAX_QUERY]
        if self._index is None:
            self._index = ToolIndex([*self._tools.values()])
        exact = [name for name in (query.strip(),) if name in self._tools]
        found = tuple(dict.fromkeys((*exact, *self._index.ranked(query, MAX_FOUND))))[:MAX_FOUND]
        return SearchAnswer(query, found, self._text(query, found))

    def _text(self, query: str, found: Sequence[str]) -> str:
        if not found:
            return (
                f"no tool fits these words; there are {len(self._tools):,} tools. Search again in "
                "other words: what it does, and to what."
            )
        entries: list[Json] = []
        room = _MAX_RESULT
        for name in found:
            tool = self._tools[name]
            about = shortened_text(tool.description, _MAX_DESCRIPTION)
            entry: Json = {"name": name, "description": about, "input_schema": tool.input_schema}
            size = len(_json(entry))
            if entries and size > room:
                left_out = f"left out here; search for {name} alone"
                entry = {"name": name, "description": about, "input_schema": left_out}
                size = len(_json(entry))
            room -= size
            entries.append(entry)
        return "\n".join((f"Call one of these by {CALL_FOUND}:", *map(_json, entries)))


def known_names(name: str, sent: Sequence[str], deferred: Sequence[str]) -> tuple[str, ...]:
    """Return the names to list for an unknown one: those sent, and the nearest of the others."""
    near = closest(name, deferred) if deferred else None
    return tuple(sent) if near is None else (*sent, near)


def _sources(deferred: Sequence[str], tools: Mapping[str, Tool]) -> list[str]:
    """Return where the tools come from, each source with its number of tools."""
    counts: dict[str, int] = {}
    for name in deferred:
        if name in tools:
            source = _source(tools[name])
            counts[source] = counts.get(source, 0) + 1
    return [f"{source}: {count:,}" for source, count in counts.items()][:_MAX_SOURCES]


def _source(tool: Tool) -> str:
    """Return the server of a tool, or its kind."""
    server, slash, _ = tool.made_of.partition("/")
    return server if slash else _KINDS[tool.kind]


_KINDS = {
    "skill": "functions",
    "agent": "agents",
    "team": "teams",
    "mcp": "MCP servers",
    "api": "APIs",
    "activity": "activities",
    "workflow": "workflows",
    "nexus": "Nexus operations",
}


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def offered_tool(name: str, tool: Tool, own: Json | None = None) -> OfferedTool:
    """Return a tool as a model sees it, with its whole schema.

    Args:
        name: The name of the tool.
        tool: Its contract.
        own: The schema of its arguments for one agent, if that is another one.
    """
    schema = tool.offered_schema or own or tool.input_schema or ANY_OBJECT
    return OfferedTool(name=name, description=tool.description, input_schema=schema)
