"""The basic types: frozen models, JSON values, durations."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue
from pydantic_core import PydanticCustomError

__all__ = [
    "MAX_DURATION",
    "UNREADABLE",
    "Form",
    "Frozen",
    "Json",
    "JsonValue",
    "NodePath",
    "Seconds",
    "Segment",
    "Timeout",
    "closed_mapping",
    "form_mismatch",
]

Json = dict[str, JsonValue]

Segment = str | int
NodePath = tuple[Segment, ...]
"""A path in a document: keys and indexes from its root."""


def closed_mapping(properties: Json, *optional: str) -> Json:
    """Return the schema of a mapping with these keys and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


UNREADABLE = "\0"
"""Stands for a missing name; every check of names accepts it."""

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", re.ASCII)
_UNIT = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Frozen(BaseModel):
    """An immutable value that refuses unknown keys.

    Its validator is built at its first use: a command uses few of the models that it imports.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)


class Documented(Frozen):
    """A value whose JSON Schema contains the docstrings of its fields."""


def build_validators() -> None:
    """Build the validators of all models that are loaded, which takes about 0.2 s of CPU.

    A worker does so before its first workflow task, whose time is limited.
    """
    models = Frozen.__subclasses__()
    for model in models:
        models.extend(model.__subclasses__())
        model.model_rebuild()


# Set after the class: in it, pydantic would parse this file for the docstrings of no fields.
Documented.model_config["use_attribute_docstrings"] = True

Form = Literal[
    "duration",
    "rate",
    "fair_by",
    "environment_variable",
    "package",
    "program",
    "folder",
    "parameter",
    "host",
    "cloud",
    "channel",
    "tool_glob",
    "mcp_server",
    "api",
    "temporal_call",
    "answer",
    "decision",
    "change",
    "grader",
    "issuer",
    "audience",
    "origin",
    "network",
    "grant",
    "root_key",
    "trigger",
    "token_url",
]
"""The forms that our own validators want: the types of the errors that they raise."""


def form_mismatch(form: Form, wanted: str, **context: str) -> PydanticCustomError:
    """Return the error for a value without this form; `wanted` may use `{name}` of `context`."""
    return PydanticCustomError(form, wanted, context or None)  # pyright: ignore[reportArgumentType]


def seconds(value: object) -> object:
    """Return `90`, `"90s"`, `"5m"`, `"1h30m"`, `"2d"` as seconds, and anything else unchanged."""
    if not isinstance(value, str):
        return value
    text = value.replace(" ", "")
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise form_mismatch(
            "duration", "a duration is a number of seconds or reads like 90s, 5m, 1h30m, 2d"
        )
    return sum(float(number) * _UNIT[unit] for number, unit in parts)


MAX_DURATION = 36_500 * 86_400.0
"""A hundred years in seconds: the maximum of any clock, timer or date of a run."""

Seconds = Annotated[
    float, BeforeValidator(seconds), Field(ge=0, le=MAX_DURATION, allow_inf_nan=False)
]
"""A duration in seconds; in YAML also `90s`, `5m`, `1h30m`, `2d`."""

MAX_CALL_SECONDS = 600.0
"""Maximum seconds of a call that is one activity. Commands and Python tools that may take longer
continue in a process of their own; an MCP server continues a long call as a task."""

MAX_COMMAND_TIMEOUT = 3600.0
"""Maximum seconds of a worker's named command."""

Timeout = Annotated[
    float, BeforeValidator(seconds), Field(gt=0, le=MAX_DURATION, allow_inf_nan=False)
]
"""A duration above zero, in which something must happen; written like Seconds."""
