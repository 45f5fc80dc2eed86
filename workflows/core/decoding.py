"""Decoding: what enters the workflow. An invalid message is refused with the reason, by field."""

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import TypeVar, cast

from pydantic import BaseModel, JsonValue, ValidationError
from temporalio import workflow
from temporalio.common import RawValue

from coterie.dsl.errors import RunRefused
from coterie.dsl.strict_json import MAX_DEPTH, JsonRefused, read_json
from coterie.workflows.core.message_problems import not_this, problems_of

_JSON = b"json/plain"
_NULL = b"binary/null"

INVALID_REFERENCE = b"coterie/invalid-reference"
"""Encoding of the placeholder for a forged reference; its data is the reason."""

_MAX_NAME_LENGTH = 120
_MAX_INPUT_DEPTH = 200
"""Maximum nesting of the input of a run, whose plan nests deeper than its document."""

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


def decoded(raw: RawValue, model: type[Model], *, ours: bool) -> Model:
    """Decode the input of a run.

    Args:
        raw: As it arrived.
        model: What it must be.
        ours: Whether a run wrote it that continued as new; else it is read strictly.

    Raises:
        RunRefused: with the problems, field by field. (A decoding error of the SDK would retry the
            workflow task forever, or drop a signal silently.)
    """
    _refuse_reference(raw)
    try:
        value = _value(raw) if ours else _strict_value(raw, _MAX_INPUT_DEPTH)
    except (ValueError, RuntimeError, KeyError) as error:
        raise RunRefused(not_this(model, str(error))) from None
    return _validate_value(value, model)


def message(given: Sequence[RawValue], model: type[Model]) -> Model:
    """Decode a message; without an argument it is empty.

    Raises:
        RunRefused: with the problems, field by field.
    """
    try:
        value = plain(given)
    except RunRefused as error:
        raise RunRefused(not_this(model, str(error))) from None
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
        RunRefused: several arguments, not JSON, or JSON that parsers read differently.
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
        return cast("JsonValue", _strict_value(given[0]))
    except JsonRefused as error:
        raise RunRefused(str(error)) from None
    except (ValueError, TypeError, RuntimeError) as error:
        raise RunRefused(f"it is no JSON: {error}") from None


def _validate_value(value: object, model: type[Model]) -> Model:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise RunRefused(not_this(model, problems_of(error, model))) from None


def _refuse_reference(raw: RawValue) -> None:
    """Refuse a forged reference to a stored value."""
    if raw.payload.metadata.get("encoding") == INVALID_REFERENCE:
        because = raw.payload.data.decode(errors="replace")
        raise RunRefused(f"it pretends to be a reference to a stored value: {because}")


def _strict_value(raw: RawValue, max_depth: int = MAX_DEPTH) -> object:
    """Return the value, and refuse a text that JSON parsers read differently."""
    if raw.payload.metadata.get("encoding") == _JSON:
        return read_json(raw.payload.data, max_depth)
    return _value(raw)


def _value(raw: RawValue) -> object:
    return workflow.payload_converter().from_payload(raw.payload)
