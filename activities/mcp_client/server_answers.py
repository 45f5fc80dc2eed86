"""Turn what an MCP server sends into plain data: its tools, and the results of calls.

All of it is untrusted: sizes are bounded here, and what cannot be text or JSON is named instead of
passed on.
"""

import json
from collections.abc import Iterable

import mcp_types as types
from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from coterie.activities.mcp_client.bounded_text import cut_text
from coterie.activities.mcp_client.call_outcomes import ToolAnswer, UnusableTool
from coterie.dsl.json_schema.schema_grammar import grammar_problem
from coterie.dsl.json_values import json_equal
from coterie.dsl.model.capabilities import ServerTool
from coterie.dsl.model.tools.offer_names import kind_of_offer
from coterie.dsl.strict_json import unsound_part
from coterie.dsl.values import Json
from coterie.dsl.visible import visible, visible_name

MAX_TOOL_SIZE = 100_000
"""Bytes of JSON of one tool; a larger one is left out."""

MAX_TEXT = 700_000
"""Bytes of a result's text; the rest is cut off. As JSON it has at most twice as many, and fits."""

_MAX_NAME_LENGTH = 128


def server_tool(tool: types.Tool) -> ServerTool | UnusableTool:
    """Return a listed tool, or why it cannot be offered."""
    name = shown_name(tool.name)
    if not is_usable_name(tool.name):
        return UnusableTool(name, "its name is empty, too long, or not printable")
    if kind_of_offer(name) != "tool":
        return UnusableTool(name, "its name is that of a resource or prompt")
    size = len(tool.model_dump_json(by_alias=True, exclude_none=True).encode())
    if size > MAX_TOOL_SIZE:
        return UnusableTool(name, f"it has {size} bytes, more than {MAX_TOOL_SIZE}")
    annotations = tool.annotations
    hints = {} if annotations is None else annotations.model_dump(exclude_none=True)
    hints.pop("title", None)
    unsound = unsound_part(
        {"input": tool.input_schema, "output": tool.output_schema, "hints": hints}
    )
    if unsound is not None:
        return UnusableTool(name, visible(str(unsound)))
    listed = ServerTool(
        name=name,
        description=tool.description or "",
        input_schema=_sort_keys(tool.input_schema),
        output_schema=None if tool.output_schema is None else _sort_keys(tool.output_schema),
        hints=hints,
    )
    for schema in (listed.input_schema, listed.output_schema):
        wrong = None if schema is None else grammar_problem(schema)
        if wrong is not None:
            return UnusableTool(name, f"its schema is not a valid JSON Schema, at {visible(wrong)}")
    return listed


def shown_name(name: str) -> str:
    """Return a name for messages."""
    return visible_name(name[: _MAX_NAME_LENGTH + 1])[:_MAX_NAME_LENGTH]


def is_usable_name(name: str) -> bool:
    """Return whether documents and models can use a name as it is."""
    return bool(name) and shown_name(name) == name and not any(char.isspace() for char in name)


def _sort_keys(schema: Json) -> Json:
    """Return it with sorted keys: servers send them in any order."""
    return json.loads(json.dumps(schema, sort_keys=True))


def tool_answer(result: types.CallToolResult) -> ToolAnswer:
    """Return structured content if there is some, otherwise the text of all parts.

    What the parts have beside structured content is its `text`; an error has both in one text.
    """
    structured = result.structured_content
    data: JsonValue = None if structured is None else to_jsonable_python(structured)
    if result.is_error:
        words = cut_text(_with_json(_text(result.content), data), MAX_TEXT)
        return ToolAnswer(words or "it failed without a message", failed=True)
    if structured is None:
        return ToolAnswer(_text(result.content))
    return ToolAnswer(data, text=_text(part for part in result.content if not _mirrors(part, data)))


def _with_json(text: str, data: JsonValue) -> str:
    """Return the text of an error with its structured content, unless that says the same."""
    if data is None or (text and _is_mirror(text, data)):
        return text
    words = json.dumps(data, ensure_ascii=False)
    return f"{text}\n{words}" if text else words


def _mirrors(part: types.ContentBlock, data: JsonValue) -> bool:
    """Return whether a part only says again what the structured content has."""
    return isinstance(part, types.TextContent) and _is_mirror(part.text, data)


def _is_mirror(text: str, data: JsonValue) -> bool:
    inner = next(iter(data.values())) if isinstance(data, dict) and len(data) == 1 else data
    if not text.strip() or text in (inner, str(inner)):
        return True
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return json_equal(value, data) or json_equal(value, inner)


def _text(parts: Iterable[types.ContentBlock]) -> str:
    return cut_text("\n".join(map(part_text, parts)), MAX_TEXT)


def part_text(part: types.ContentBlock) -> str:
    """Return the text of a part, or what it is."""
    match part:
        case types.TextContent(text=text):
            return text
        case types.ImageContent(data=data, mime_type=kind):
            return _not_passed_on("an image", kind, data)
        case types.AudioContent(data=data, mime_type=kind):
            return _not_passed_on("a recording", kind, data)
        case types.ResourceLink(uri=uri, name=name):
            return f"[a link to the resource {name!r}: {uri}]"
        case types.EmbeddedResource(resource=types.TextResourceContents(text=text)):
            return text
        case types.EmbeddedResource(resource=types.BlobResourceContents(blob=data, mime_type=kind)):
            return _not_passed_on("a file", kind or "of an unknown type", data)
        case _:
            return f"[a part of the type {part.type!r}, which is not passed on]"


def _not_passed_on(what: str, kind: str, data: str) -> str:
    size = len(data) * 3 // 4 - data[-2:].count("=")
    return f"[{what} ({kind}, {size} bytes), which is not passed on]"
