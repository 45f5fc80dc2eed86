"""Turn resources and prompts of an MCP server into tools that read them.

All of it is untrusted, as in `server_answers`.
"""

import re

import mcp_types as types
from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate
from pydantic import JsonValue

from coterie.activities.mcp_client.bounded_text import cut_text
from coterie.activities.mcp_client.call_outcomes import ToolAnswer, UnusableTool
from coterie.activities.mcp_client.server_answers import (
    MAX_TEXT,
    MAX_TOOL_SIZE,
    is_usable_name,
    part_text,
    shown_name,
)
from coterie.dsl.model.capabilities import ServerTool
from coterie.dsl.model.tools.offer_names import PROMPT, RESOURCE
from coterie.dsl.values import Json

_STRING: Json = {"type": "string"}
_MESSAGE: Json = {
    "type": "object",
    "properties": {"role": _STRING, "text": _STRING},
    "required": ["role", "text"],
}
_MESSAGES: Json = {
    "type": "object",
    "properties": {"messages": {"type": "array", "items": _MESSAGE}},
    "required": ["messages"],
}


def resource_offer(resource: types.Resource | types.ResourceTemplate) -> ServerTool | UnusableTool:
    """Return the tool that reads a resource; a template's variables are its arguments."""
    name = f"{RESOURCE}{re.sub('[^A-Za-z0-9_.-]+', '_', resource.name[:100])}"
    match resource:
        case types.Resource(uri=uri):
            arguments = _object({}, [])
        case types.ResourceTemplate(uri_template=uri):
            try:
                template = UriTemplate.parse(uri)
            except InvalidUriTemplate:
                return UnusableTool(name, "the template of its URI is not valid or not supported")
            optional = template.query_variable_names
            names = template.variable_names
            required = [one for one in names if one not in optional]
            arguments = _object(dict.fromkeys(names, _STRING), required)
    offer = ServerTool(
        name=name,
        description=resource.description or resource.title or f"Reads {uri}",
        input_schema=arguments,
        output_schema=_STRING,
        uri=uri,
    )
    return _bounded_offer(offer)


def prompt_offer(prompt: types.Prompt) -> ServerTool | UnusableTool:
    """Return the tool that gets the messages of a prompt."""
    if not is_usable_name(prompt.name):
        why = "its name is empty, too long, or not printable"
        return UnusableTool(f"{PROMPT}{shown_name(prompt.name)}", why)
    given = prompt.arguments or []
    offer = ServerTool(
        name=f"{PROMPT}{prompt.name}",
        description=prompt.description or prompt.title or "",
        input_schema=_object(
            {
                one.name: {
                    **_STRING,
                    **({"description": one.description} if one.description else {}),
                }
                for one in given
            },
            [one.name for one in given if one.required],
        ),
        output_schema=_MESSAGES,
    )
    return _bounded_offer(offer)


def resource_uri(tool: ServerTool, arguments: Json) -> str:
    """Return the URI of a resource, with the variables of its template."""
    if not tool.input_schema.get("properties"):
        return tool.uri
    given = {key: value for key, value in arguments.items() if isinstance(value, str)}
    return UriTemplate.parse(tool.uri).expand(given)


def resource_answer(result: types.ReadResourceResult) -> ToolAnswer:
    """Return the text of a resource."""
    parts = (types.EmbeddedResource(type="resource", resource=one) for one in result.contents)
    return ToolAnswer(cut_text("\n".join(map(part_text, parts)), MAX_TEXT))


def prompt_answer(result: types.GetPromptResult) -> ToolAnswer:
    """Return the messages of a prompt; all texts together are bounded."""
    messages: list[JsonValue] = []
    left = MAX_TEXT
    for message in result.messages:
        text = cut_text(part_text(message.content), left)
        messages.append({"role": message.role, "text": text})
        left -= len(text.encode()) + 50  # with what is around it
        if left <= 0:
            break
    return ToolAnswer({"messages": messages})


def _object(properties: Json, required: list[str]) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": [*sorted(required)],
        "additionalProperties": False,
    }


def _bounded_offer(offer: ServerTool) -> ServerTool | UnusableTool:
    size = len(offer.model_dump_json().encode())
    if size > MAX_TOOL_SIZE:
        return UnusableTool(offer.name, f"it has {size} bytes, more than {MAX_TOOL_SIZE}")
    return offer
