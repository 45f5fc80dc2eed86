"""Write model requests and completions as JSON and read them back, for providers elsewhere."""

from dataclasses import replace
from typing import cast

from pydantic import JsonValue, TypeAdapter

from coterie.activities.providers.message_json import (
    content_from_json,
    content_to_json,
    message_from_json,
    message_to_json,
)
from coterie.activities.providers.message_model import ModelMessage
from coterie.activities.providers.provider import Completion, ModelRequest, ProviderSettings
from coterie.dsl.values import Json

_REQUEST = TypeAdapter(ModelRequest)
_COMPLETION = TypeAdapter(Completion)
_SETTINGS = TypeAdapter(ProviderSettings)


def request_to_json(request: ModelRequest) -> Json:
    """Return a request as JSON, without the callback."""
    plain = replace(request, messages=(), on_text=None)
    fields = cast("Json", _REQUEST.dump_python(plain, mode="json"))
    return {**fields, "messages": [message_to_json(one) for one in request.messages]}


def request_from_json(value: Json) -> ModelRequest:
    """Return the request that `request_to_json` wrote.

    Raises:
        ValueError: It is none.
    """
    messages: tuple[ModelMessage, ...] = tuple(
        message_from_json(one) for one in cast("list[JsonValue]", value["messages"])
    )
    return replace(_REQUEST.validate_python({**value, "messages": ()}), messages=messages)


def completion_to_json(completion: Completion) -> Json:
    """Return a completion as JSON."""
    fields = cast("Json", _COMPLETION.dump_python(replace(completion, content=()), mode="json"))
    return {**fields, "content": content_to_json(completion.content)}


def completion_from_json(value: Json) -> Completion:
    """Return the completion that `completion_to_json` wrote.

    Raises:
        ValueError: It is none.
    """
    content = content_from_json(value.get("content"))
    return replace(_COMPLETION.validate_python({**value, "content": ()}), content=content)


def settings_to_json(settings: ProviderSettings) -> Json:
    """Return the settings of a provider as JSON, with its key."""
    return cast("Json", _SETTINGS.dump_python(settings, mode="json"))


def settings_from_json(value: Json) -> ProviderSettings:
    """Return the settings that `settings_to_json` wrote.

    Raises:
        ValueError: They are none.
    """
    return _SETTINGS.validate_python(value)
