"""Write model requests and completions as JSON and read them back, for providers elsewhere."""

from dataclasses import replace
from typing import cast

from pydantic import TypeAdapter

from coterie.activities.providers.provider import Completion, ModelRequest, ProviderSettings
from coterie.dsl.values import Json

_REQUEST = TypeAdapter(ModelRequest)
_COMPLETION = TypeAdapter(Completion)
_SETTINGS = TypeAdapter(ProviderSettings)


def request_to_json(request: ModelRequest) -> Json:
    """Return a request as JSON, without the callback."""
    return cast("Json", _REQUEST.dump_python(replace(request, on_text=None), mode="json"))


def request_from_json(value: Json) -> ModelRequest:
    """Return the request that `request_to_json` wrote.

    Raises:
        ValueError: It is none.
    """
    return _REQUEST.validate_python(value)


def completion_to_json(completion: Completion) -> Json:
    """Return a completion as JSON."""
    checked = replace(completion)  # raises for any other object
    return cast("Json", _COMPLETION.dump_python(checked, mode="json", warnings="error"))


def completion_from_json(value: Json) -> Completion:
    """Return the completion that `completion_to_json` wrote.

    Raises:
        ValueError: It is none.
    """
    return _COMPLETION.validate_python(value)


def settings_to_json(settings: ProviderSettings) -> Json:
    """Return the settings of a provider as JSON, with its key."""
    return cast("Json", _SETTINGS.dump_python(settings, mode="json"))


def settings_from_json(value: Json) -> ProviderSettings:
    """Return the settings that `settings_to_json` wrote.

    Raises:
        ValueError: They are none.
    """
    return _SETTINGS.validate_python(value)
