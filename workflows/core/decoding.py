"""Decoding: what enters the workflow. An invalid message is refused with the reason, by field."""

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from typing import TypeVar, cast

from pydantic import BaseModel, JsonValue, ValidationError
from temporalio import workflow
from temporalio.common import RawValue

from coterie.dsl.errors import RunRefused, listed, nearest
from coterie.dsl.strict_json import MAX_DEPTH, JsonRefused, read_json
from coterie.dsl.visible import shortened_text

_NOUNS: Mapping[str, str] = {
    "TeamInput": "the input of a run",
    "AmendInput": "an amendment",
    "Answer": "an answer to a request",
    "Control": "a control signal",
    "DecideInput": "a decision",
    "PushInput": "a push configuration",
    "RedirectInput": "a redirect",
    "RetryInput": "a retry",
    "SayInput": "a message to an agent",
    "SessionInput": "a message of a session",
    "SignedInput": "a signed message",
    "SkipInput": "a skip",
}
_FORMS: Mapping[str, str] = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "mapping_type": "an object",
}
"""What a value must be, by the type of pydantic's error."""
_MAX_KEY = 80


def not_this(model: type[BaseModel], because: str) -> str:
    """Return the sentence that refuses what should have been such a message."""
    return f"this is not {_NOUNS.get(model.__name__, model.__name__)}: {because}"


def problems_of(error: ValidationError, model: type[BaseModel]) -> str:
    """Return each problem of a message, with its key and what is allowed there."""
    return "; ".join(
        _problem(details["type"], details["loc"], details["msg"], details.get("ctx", {}), model)
        for details in error.errors(include_url=False)
    )


def _problem(
    kind: str,
    location: tuple[int | str, ...],
    message: str,
    context: Mapping[str, object],
    model: type[BaseModel],
) -> str:
    key = shortened_text(".".join(map(str, location)), _MAX_KEY)
    if kind == "missing":
        return f"the key {key!r} is missing"
    if kind == "extra_forbidden" and len(location) == 1:
        names = {info.alias or name for name, info in model.model_fields.items()}
        hint = nearest(str(location[0]), names)
        return f"unknown key {key!r} (allowed: {listed(names)})" + (f", {hint}" if hint else "")
    if kind == "extra_forbidden":
        return f"unknown key {key!r}"
    subject = repr(key) if key else "it"
    if kind in _FORMS:
        return f"{subject} must be {_FORMS[kind]}"
    if kind == "string_too_long":
        return f"{subject} must have at most {context['max_length']} characters"
    return f"{subject}: {context.get('error', message)}"


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
        # named like the parameter of the handlers: the SDK looks the annotation up by this name
        Parameter("payloads", Parameter.POSITIONAL_OR_KEYWORD, annotation=RawValue),
    ]
)


def takes_any_arguments(handler: Handler) -> Handler:
    """Return a handler with `*payloads`, to which the SDK passes a message's argument undecoded.

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
        len(value.payload.data) if isinstance(value, RawValue) else len(repr(value))
        for value in given
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
