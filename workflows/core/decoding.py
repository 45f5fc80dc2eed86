"""Decoding: what enters the workflow. An invalid message is refused with the reason, by field."""

import json
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import TypeVar, cast

from pydantic import BaseModel, JsonValue, ValidationError
from temporalio import workflow
from temporalio.common import RawValue

from dsl.errors import RunRefused

_JSON = b"json/plain"
_NULL = b"binary/null"

INVALID_REFERENCE = b"coterie/invalid-reference"
"""Encoding of the placeholder for a forged reference; its data is the reason."""

_MAX_NAME_LENGTH = 120
_MAX_DEPTH = 100
"""Maximum nesting of a message; carried state may nest up to 200 levels."""

Model = TypeVar("Model", bound=BaseModel)
Handler = TypeVar("Handler", bound=Callable[..., object])

_RAW = Signature(
    [
        Parameter("self", Parameter.POSITIONAL_OR_KEYWORD),
        Parameter("given", Parameter.POSITIONAL_OR_KEYWORD, annotation=RawValue),
    ]
)


def takes_any_arguments(handler: Handler) -> Handler:
    """Return a handler with `*given`, to which the SDK passes the argument of a message undecoded.

    The SDK passes as many arguments as arrived. With none or two, a handler with one parameter
    raises a TypeError, and in a signal that fails the workflow task forever; without a RawValue
    parameter, the SDK decodes the argument, or drops it silently.
    """
    handler.__dict__["__signature__"] = _RAW
    return handler


def decoded(raw: RawValue, model: type[Model]) -> Model:
    """Decode a message.

    Raises:
        RunRefused: with the problems, field by field. (A decoding error of the SDK would retry the
            workflow task forever, or drop a signal silently.)
    """
    _refuse_reference(raw)
    try:
        value = _value(raw)
    except (ValueError, RuntimeError, KeyError) as error:
        raise RunRefused(f"not a {model.__name__}: {error}") from None
    return _validate_value(value, model)


def message(given: Sequence[RawValue], model: type[Model]) -> Model:
    """Decode a message; without an argument it is empty.

    Raises:
        RunRefused: with the problems, field by field.
    """
    try:
        value = plain(given)
    except RunRefused as error:
        raise RunRefused(f"not a {model.__name__}: {error}") from None
    return _validate_value({} if value is None else value, model)


def size_of(given: Sequence[object]) -> int:
    """Return the bytes of a message; about as many, if the SDK has decoded several arguments."""
    return sum(
        len(one.payload.data) if isinstance(one, RawValue) else len(repr(one)) for one in given
    )


def argument(given: Sequence[RawValue], model: type[Model], key: str) -> Model:
    """Decode the argument of a query: an object, the one value that its `key` names, or nothing.

    Raises:
        RunRefused: it is none of these.
    """
    try:
        value = plain(given)
        if value is None:
            return model()
        return model.model_validate(value if isinstance(value, dict) else {key: value})
    except (ValidationError, RunRefused):
        raise RunRefused("this is not a question") from None


def plain(given: Sequence[RawValue]) -> JsonValue:
    """Return the JSON of a message; None without an argument.

    Raises:
        RunRefused: several arguments, not JSON, NaN, or nested too deeply to be read again.
    """
    if not given:
        return None
    if len(given) > 1:
        raise RunRefused(f"a message has one argument, and this one has {len(given)}")
    _refuse_reference(given[0])
    encoding = given[0].payload.metadata.get("encoding", b"")
    if encoding not in (_JSON, _NULL):
        named = encoding[:_MAX_NAME_LENGTH].decode(errors="replace")
        raise RunRefused(f"its encoding is {named!r}; a message is JSON, {_JSON.decode()!r}")
    try:
        value = _value(given[0])
        json.dumps(value, allow_nan=False)
    except (ValueError, TypeError, RuntimeError) as error:
        raise RunRefused(f"it is no JSON: {error}") from None
    if _deeper(value, _MAX_DEPTH):
        raise RunRefused(f"it is nested deeper than the {_MAX_DEPTH} levels that are allowed")
    return cast("JsonValue", value)


def _deeper(value: object, levels: int) -> bool:
    match value:
        case dict():
            inner = cast("dict[str, object]", value).values()
        case list():
            inner = cast("list[object]", value)
        case _:
            return False
    return levels == 0 or any(_deeper(one, levels - 1) for one in inner)


def _validate_value(value: object, model: type[Model]) -> Model:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(str(part) for part in details['loc']) or 'the value'}: {details['msg']}"
            for details in error.errors()
        )
        raise RunRefused(f"not a {model.__name__}: {wrong}") from None


def _refuse_reference(raw: RawValue) -> None:
    """Refuse a forged reference to a stored value."""
    if raw.payload.metadata.get("encoding") == INVALID_REFERENCE:
        because = raw.payload.data.decode(errors="replace")
        raise RunRefused(f"it pretends to be a reference to a stored value: {because}")


def _value(raw: RawValue) -> object:
    return workflow.payload_converter().from_payload(raw.payload)
