"""Values as they appear inside a text, and the names and the meter of an evaluation."""

import json
from typing import Any, Final

from jinja2 import StrictUndefined
from jinja2.runtime import Context
from pydantic import JsonValue

from coterie.dsl.model.evaluation_budget import EvaluationMeter
from coterie.dsl.templates.jsonable import to_json

# `dumps` would make a new encoder each time
_ENCODED: Final = json.JSONEncoder(ensure_ascii=False).encode
_ENCODING = 2
"""Maximum bytes of a JSON text for each byte of the value."""


class Absent(StrictUndefined):
    """A missing value: its parts are missing too, and it fails when it is used."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: object) -> Any:
        return self


class MeteredContext(Context):
    """The names of one evaluation, and its meter."""

    meter: EvaluationMeter


def shown(value: object, meter: EvaluationMeter) -> object:
    """Return a value as it appears inside a text: JSON, but texts without quotes."""
    if isinstance(value, str | Absent):
        return value
    return _ENCODED(encodable(value, meter))


def encodable(value: object, meter: EvaluationMeter) -> JsonValue:
    """Return the value as JSON; charge for its copy and for its text."""
    before = meter.bytes_left
    plain = to_json(value, meter)
    if type(plain) is list or type(plain) is dict:
        meter.charge(0, _ENCODING * (before - meter.bytes_left))
    return plain


def text_of(value: object, meter: EvaluationMeter) -> str:
    """Return the value as it appears inside a text."""
    return str(shown(value, meter))
