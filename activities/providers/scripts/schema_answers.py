"""Answer without a model and without a script: by the schema of the answer. Pure."""

import json

from coterie.activities.contracts import FailureType
from coterie.activities.providers.message_model import Part, TextPart, ToolCallPart
from coterie.activities.providers.provider import ModelRequest
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.translation.wire_values import new_call_id
from coterie.dsl.json_schema.minimal_values import NoMinimalValue, minimal_value
from coterie.dsl.model.tools.tool_use import NamedTool
from coterie.dsl.values import Json, JsonValue


def schema_content(request: ModelRequest) -> tuple[Part, ...]:
    """Return the smallest answer that the request accepts; the same one each time.

    It calls a tool only if the request demands one: with made-up arguments, a call could harm.

    Raises:
        ProviderFailure: No value was found; never retried.
    """
    match request.tool_choice:
        case NamedTool(tool=name):
            return (_call(request, name),)
        case "required":
            return (_call(request, request.tools[0].name),)
        case "auto" | "none":
            pass
    task = request.label.partition("#")[0]
    if request.output_schema is None:
        return (TextPart(f"mock answer of {task}"),)
    value = _made_up(request.output_schema, f"the answer of {task}")
    return (TextPart(json.dumps(value, ensure_ascii=False)),)


def _call(request: ModelRequest, name: str) -> ToolCallPart:
    tool = next(tool for tool in request.tools if tool.name == name)
    value = _made_up(tool.input_schema, f"the arguments of tool {name!r}")
    return ToolCallPart(new_call_id(request, 0), name, json.dumps(value, ensure_ascii=False))


def _made_up(schema: Json, what: str) -> JsonValue:
    try:
        return minimal_value(schema)
    except NoMinimalValue as error:
        raise ProviderFailure(
            FailureType.PROVIDER_REFUSED,
            f"`mock: schema` found no value for {what} ({error}); add `examples` to the schema, "
            "or an entry to the script",
            retryable=False,
        ) from None
