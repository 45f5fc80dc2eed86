"""What is wrong with the input of a run or with a message, in the words of its sender."""

from collections.abc import Mapping

from pydantic import BaseModel, ValidationError

from coterie.dsl.errors import listed, nearest
from coterie.dsl.visible import shortened_text

_NOUNS: Mapping[str, str] = {
    "TeamInput": "the input of a run",
    "AmendInput": "an amendment",
    "Answer": "an answer to a request",
    "Control": "a control signal",
    "DecideInput": "a decision",
    "RedirectInput": "a redirect",
    "RetryInput": "a retry",
    "SessionInput": "a message of a session",
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
