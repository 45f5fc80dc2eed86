"""Write messages as JSON and read them back, for the store of conversations.

Plain text is a string, so a turn that was stored before messages had parts reads as one.
"""

from typing import cast

from pydantic import JsonValue, TypeAdapter, ValidationError

from coterie.activities.providers.message_model import (
    ImagePart,
    ModelMessage,
    OpaquePart,
    Part,
    StoredPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from coterie.dsl.values import Json

_TYPES: dict[type[Part], str] = {
    TextPart: "text",
    ToolCallPart: "tool_call",
    ToolResultPart: "tool_result",
    ThinkingPart: "thinking",
    ImagePart: "image",
    StoredPart: "stored",
    OpaquePart: "opaque",
}
_ADAPTERS: dict[str, TypeAdapter[Part]] = {
    name: TypeAdapter[Part](part) for part, name in _TYPES.items()
}


class UnreadableMessage(ValueError):
    """The JSON is not a message."""


def message_to_json(message: ModelMessage) -> Json:
    """Return the message as JSON: `{"role": ..., "content": ...}`."""
    return {"role": message.role, "content": content_to_json(message.content)}


def message_from_json(value: JsonValue) -> ModelMessage:
    """Return the message that `message_to_json` wrote.

    Raises:
        UnreadableMessage: It is not one.
    """
    match value:
        case {"role": ("user" | "assistant") as role, "content": content, **rest} if not rest:
            return ModelMessage(role, content_from_json(content))
        case _:
            raise UnreadableMessage("a message has a `role`, user or assistant, and a `content`")


def content_to_json(content: tuple[Part, ...]) -> JsonValue:
    """Return the parts as JSON: a string for plain text, else a list."""
    match content:
        case (TextPart(text=text, extra=None),):
            return text
        case _:
            return [_part_to_json(part) for part in content]


def content_from_json(value: JsonValue) -> tuple[Part, ...]:
    """Return the parts that `content_to_json` wrote.

    Raises:
        UnreadableMessage: They are none.
    """
    match value:
        case str():
            return (TextPart(value),)
        case list():
            return tuple(_part_from_json(part) for part in value)
        case _:
            raise UnreadableMessage("the content of a message is a text or a list of parts")


def _part_to_json(part: Part) -> Json:
    name = _TYPES[type(part)]
    fields = _ADAPTERS[name].dump_python(part, mode="json", exclude_defaults=True)
    return {"type": name, **cast("Json", fields)}


def _part_from_json(value: JsonValue) -> Part:
    if not isinstance(value, dict):
        raise UnreadableMessage("a part of a message is a mapping with a `type`")
    fields = dict(value)
    name = fields.pop("type", None)
    adapter = _ADAPTERS.get(name) if isinstance(name, str) else None
    if adapter is None:
        raise UnreadableMessage(f"unknown part of a message: {name!r}")
    try:
        return adapter.validate_python(fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UnreadableMessage(f"part {name!r} of a message: {where}: {first['msg']}") from None
