"""What is asked of an MCP server: its lists, and a call of what it offers."""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar, assert_never

import mcp_types as types
from mcp import ClientSession, MCPError
from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate
from pydantic import Field, JsonValue, TypeAdapter

from coterie.activities.mcp_client.bounded_text import cut_text
from coterie.activities.mcp_client.call_outcomes import FoundServerTools, ToolAnswer, UnusableTool
from coterie.activities.mcp_client.input_requests import Replied, reply_fields
from coterie.activities.mcp_client.input_rounds import InputReply
from coterie.activities.mcp_client.malformed_offers import malformed_offer
from coterie.activities.mcp_client.offer_listing import OfferPage, list_offers
from coterie.activities.mcp_client.server_answers import (
    MAX_TEXT,
    MAX_TOOL_SIZE,
    is_usable_name,
    part_text,
    server_tool,
    shown_name,
    tool_answer,
)
from coterie.activities.mcp_client.task_protocol import CreatedTask
from coterie.dsl.model.capabilities import ServerTool
from coterie.dsl.model.tools.offer_names import PROMPT, RESOURCE, OfferKind, kind_of_offer
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
            required = [variable for variable in names if variable not in optional]
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
    arguments = prompt.arguments or []
    offer = ServerTool(
        name=f"{PROMPT}{prompt.name}",
        description=prompt.description or prompt.title or "",
        input_schema=_object(
            {
                argument.name: {
                    **_STRING,
                    **({"description": argument.description} if argument.description else {}),
                }
                for argument in arguments
            },
            [argument.name for argument in arguments if argument.required],
        ),
        output_schema=_MESSAGES,
    )
    return _bounded_offer(offer)


def resource_uri(tool: ServerTool, arguments: Json) -> str:
    """Return the URI of a resource, with the variables of its template."""
    if not tool.input_schema.get("properties"):
        return tool.uri
    variables = {key: value for key, value in arguments.items() if isinstance(value, str)}
    return UriTemplate.parse(tool.uri).expand(variables)


def resource_answer(result: types.ReadResourceResult) -> ToolAnswer:
    """Return the text of a resource."""
    parts = (
        types.EmbeddedResource(type="resource", resource=content) for content in result.contents
    )
    return ToolAnswer(cut_text("\n".join(map(part_text, parts)), MAX_TEXT))


def prompt_answer(result: types.GetPromptResult) -> ToolAnswer:
    """Return the messages of a prompt; all texts together are bounded."""
    messages: list[JsonValue] = []
    remaining = MAX_TEXT
    for message in result.messages:
        text = cut_text(part_text(message.content), remaining)
        messages.append({"role": message.role, "text": text})
        remaining -= len(text.encode()) + 50  # with what is around it
        if remaining <= 0:
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


T = TypeVar("T", bound=types.Tool | types.Resource | types.ResourceTemplate | types.Prompt)
P = TypeVar("P", bound=types.PaginatedResult)

Result = (
    types.CallToolResult
    | types.ReadResourceResult
    | types.GetPromptResult
    | types.InputRequiredResult
    | CreatedTask
)

_TOOL: TypeAdapter[Result] = TypeAdapter(
    Annotated[
        CreatedTask | types.CallToolResult | types.InputRequiredResult,
        Field(union_mode="left_to_right"),
    ]
)
_RESOURCE: TypeAdapter[Result] = TypeAdapter(types.ReadResourceResult | types.InputRequiredResult)
_PROMPT: TypeAdapter[Result] = TypeAdapter(types.GetPromptResult | types.InputRequiredResult)


class ServerRequest(NamedTuple):
    """A request, and the form of its result."""

    request: types.Request[Any, Any]
    form: TypeAdapter[Result]


def request_of(offer: ServerTool, arguments: Json, reply: InputReply | None) -> ServerRequest:
    """Return the request that calls a tool, reads a resource or gets a prompt.

    Args:
        offer: As the server lists it.
        arguments: Of the call.
        reply: What the server has asked for in the same call.
    """
    replied: Replied = {} if reply is None else reply_fields(reply)
    match kind_of_offer(offer.name):
        case "tool":
            params = types.CallToolRequestParams(name=offer.name, arguments=arguments, **replied)
            return ServerRequest(types.CallToolRequest(params=params), _TOOL)
        case "resource":
            uri = resource_uri(offer, arguments)
            read_params = types.ReadResourceRequestParams(uri=uri, **replied)
            return ServerRequest(types.ReadResourceRequest(params=read_params), _RESOURCE)
        case "prompt":
            texts = {key: value for key, value in arguments.items() if isinstance(value, str)}
            name = offer.name.removeprefix(PROMPT)
            prompt = types.GetPromptRequestParams(name=name, arguments=texts, **replied)
            return ServerRequest(types.GetPromptRequest(params=prompt), _PROMPT)
        case _ as never:
            assert_never(never)


def answer_of(
    result: types.CallToolResult | types.ReadResourceResult | types.GetPromptResult,
) -> ToolAnswer:
    """Return a result as plain data."""
    match result:
        case types.CallToolResult():
            return tool_answer(result)
        case types.ReadResourceResult():
            return resource_answer(result)
        case types.GetPromptResult():
            return prompt_answer(result)
        case _ as never:
            assert_never(never)


async def list_kind(
    session: ClientSession, has: types.ServerCapabilities, kind: OfferKind
) -> FoundServerTools:
    """Return what a server offers of one kind; nothing where it says that it has none.

    Raises:
        MCPError: It does not list it.
    """
    match kind:
        case "tool":
            optional = has.resources is not None or has.prompts is not None
            tools = _pages(session.list_tools, lambda page: page.tools)
            return await _list_offers(tools, server_tool, kind, optional=optional)
        case "resource":
            if has.resources is None:
                return FoundServerTools((), ())
            fixed = _pages(session.list_resources, lambda page: page.resources)
            open_ones = _pages(
                session.list_resource_templates, lambda page: page.resource_templates
            )
            first = await _list_offers(fixed, resource_offer, kind, optional=True)
            second = await _list_offers(open_ones, resource_offer, kind, optional=True)
            return joined_offers(first, second)
        case "prompt":
            if has.prompts is None:
                return FoundServerTools((), ())
            prompts = _pages(session.list_prompts, lambda page: page.prompts)
            return await _list_offers(prompts, prompt_offer, kind, optional=True)
        case _ as never:
            assert_never(never)


def joined_offers(first: FoundServerTools, second: FoundServerTools) -> FoundServerTools:
    """Return two lists as one; the first of two offers with the same name counts."""
    names = {tool.name for tool in first.tools}
    twice = [tool.name for tool in second.tools if tool.name in names]
    left_out = (UnusableTool(name, "another resource has the same name") for name in twice)
    return FoundServerTools(
        (*first.tools, *(tool for tool in second.tools if tool.name not in names)),
        (*first.left_out, *second.left_out, *left_out),
    )


def _pages(
    ask: Callable[..., Awaitable[P]], items: Callable[[P], Sequence[T]]
) -> Callable[[str | None], Awaitable[OfferPage[T]]]:
    async def page_at(cursor: str | None) -> OfferPage[T]:
        page = await ask(params=types.PaginatedRequestParams(cursor=cursor))
        return OfferPage(items(page), page.next_cursor)

    return page_at


async def _list_offers(
    page_at: Callable[[str | None], Awaitable[OfferPage[T]]],
    offer_of: Callable[[T], ServerTool | UnusableTool],
    kind: OfferKind,
    *,
    optional: bool,
) -> FoundServerTools:
    def sound_offer(item: T) -> ServerTool | UnusableTool:
        return malformed_offer(item) or offer_of(item)

    try:
        return await list_offers(page_at, sound_offer, kind)
    except MCPError as error:
        if optional and error.code == types.METHOD_NOT_FOUND:
            return FoundServerTools((), ())
        raise
