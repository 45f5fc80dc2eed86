"""Calls that models make within a call of another tool: by their real names from here on. Pure.

Whatever tool carries the call, the run checks, allows, bounds and records it as if the model had
made it directly.
"""

from coterie.dsl.json_values import describe_kind
from coterie.dsl.strict_json import read_json
from coterie.dsl.tool_loop.exchange import ToolCallRequest
from coterie.dsl.values import Json, JsonValue

_MAX_NAME = 100


def carried_call(carrier: str, name: JsonValue, arguments: JsonValue) -> ToolCallRequest:
    """Return a call under the real name of its tool.

    The caller checks it as it checks each call of a model. Without a usable name or arguments it
    is a call of the carrier with a problem, which nobody executes.

    Args:
        carrier: The name of the tool that carries it.
        name: As the model gives it.
        arguments: As the model gives them: an object, its JSON, or None for no arguments.
    """
    if not isinstance(name, str) or not name:
        return ToolCallRequest(tool=carrier, problem="`name` must be the name of a tool")
    if name == carrier:
        return ToolCallRequest(tool=carrier, problem=f"`name` must be another tool than {carrier}")
    tool = name[:_MAX_NAME]
    value = _read(arguments)
    if value is None:
        return ToolCallRequest(tool=tool)
    if not isinstance(value, dict):
        problem = f"`arguments` are {describe_kind(value)}, not an object"
        return ToolCallRequest(tool=tool, problem=problem)
    own: Json = value
    return ToolCallRequest(tool=tool, arguments=own)


def _read(arguments: JsonValue) -> JsonValue:
    """Return the arguments; some models write an object as a text of JSON."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return read_json(arguments or "{}")
    except ValueError:
        return arguments
