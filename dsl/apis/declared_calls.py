"""Declared calls of an HTTP API as tools: `worker.apis.NAME.calls`, without a document."""

from coterie.dsl.json_values import is_whole_schema
from coterie.dsl.model.api_requests import (
    ApiBody,
    ApiParameter,
    ApiRequest,
    ParameterPlace,
    ParameterStyle,
)
from coterie.dsl.model.capabilities import ServerTool
from coterie.dsl.model.sections.api_document import PLACEHOLDER, ApiCallSection, ApiSection
from coterie.dsl.values import Json, JsonValue


def declared_call(name: str, section: ApiCallSection) -> ServerTool:
    """Return a declared call as a tool."""
    path = (
        ApiParameter(name=argument, place="path", argument=argument)
        for argument in PLACEHOLDER.findall(section.path)
    )
    query = (_parameter(key, "query", value) for key, value in section.query.items())
    headers = (_parameter(key, "header", value) for key, value in section.headers.items())
    request = ApiRequest(
        method=section.method,
        path=section.path,
        parameters=(*dict.fromkeys(path), *query, *headers),
        body=None if section.body is None else ApiBody(template=section.body),
        result=section.result,
    )
    return ServerTool(
        name=name,
        description=section.description,
        input_schema=_input_schema(section),
        output_schema=section.output_schema or None,
        request=request,
    )


def agent_message(section: ApiSection) -> ServerTool:
    """Return the operation of a remote agent: a message to it."""
    return ServerTool(
        name="message",
        description=section.description or "Sends a message to a remote agent; returns its result.",
        input_schema={
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "What the agent shall do."},
                "data": {"description": "Its input as a JSON value."},
            },
            "additionalProperties": False,
        },
        output_schema={
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "data": {"type": "array"},
                "task": {"type": "string"},
            },
            "required": ["text", "data"],
        },
        request=ApiRequest(method="POST", path="/message:send"),
    )


def _parameter(name: str, place: ParameterPlace, value: JsonValue) -> ApiParameter:
    style: ParameterStyle = "form" if place == "query" else "simple"
    found = PLACEHOLDER.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return ApiParameter(name=name, place=place, value=value, style=style, explode=True)
    return ApiParameter(name=name, place=place, argument=found[1], style=style, explode=True)


def _input_schema(section: ApiCallSection) -> Json:
    """Return the schema of the arguments; a name without a schema is a required text."""
    written = section.input_schema
    if is_whole_schema(written):
        return {**written, "additionalProperties": False}
    arguments = section.arguments
    properties: Json = {name: written.get(name, {"type": "string"}) for name in arguments}
    return {
        "type": "object",
        "properties": properties,
        "required": [*arguments],
        "additionalProperties": False,
    }
