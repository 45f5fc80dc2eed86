"""Write messages as JSON and read them back, for the store of conversations.

Plain text is a string, so a turn that was stored before messages had parts reads as one.
"""

from typing import Annotated, cast

from pydantic import Discriminator, JsonValue, TypeAdapter, ValidationError

from coterie.activities.providers.message_model import ModelMessage, Part, TextPart
from coterie.dsl.values import Json

_PART = TypeAdapter[Part](Annotated[Part, Discriminator("type")])


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
    fields = _PART.dump_python(part, mode="json", exclude_defaults=True)
    return {"type": part.type, **cast("Json", fields)}


def _part_from_json(value: JsonValue) -> Part:
    if not isinstance(value, dict):
        raise UnreadableMessage("a part of a message is a mapping with a `type`")
    try:
        return _PART.validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        name, *where = first["loc"] or (None,)
        if name is None:
            raise UnreadableMessage(f"unknown part of a message: {value.get('type')!r}") from None
        place = ".".join(map(str, where))
        raise UnreadableMessage(f"part {name!r} of a message: {place}: {first['msg']}") from None
