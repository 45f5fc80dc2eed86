"""Check a model's answer against a JSON Schema (draft 2020-12) from an untrusted document.

A schema comes in with a run, so it gets no power: it cannot reference anything outside itself, and
its patterns run in linear time.
"""

import json
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from typing import Any, cast

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import best_match as _best_match  # pyright: ignore[reportUnknownVariableType]
from jsonschema.validators import extend as _extend  # pyright: ignore[reportUnknownVariableType]
from pydantic import JsonValue
from referencing import Registry
from referencing.exceptions import Unresolvable

from coterie.dsl.json_schema.keyword_check import canonical, names_steps, number_steps, weight
from coterie.dsl.json_schema.patterns import schema_pattern
from coterie.dsl.json_schema.schema_problems import schema_problem, subschemas
from coterie.dsl.json_schema.value_keywords import is_multiple
from coterie.dsl.values import Json

MAX_ERRORS = 10
"""Errors reported for one value."""

_MAX_CHECKED = 200
_MAX_ERROR_LENGTH = 240
_QUOTED_A_STEP = 30
"""Units of a value's weight that an error quotes in one unit of work."""
MAX_WORK = 100_000
"""Budget of one check: keywords evaluated, plus the cost of the expensive ones."""


class InvalidAnswerSchema(Exception):
    """The schema itself is unusable."""


def schema_errors(value: JsonValue, schema: Json, *, work: int = MAX_WORK) -> list[str]:
    """List the errors of a value, each as `$.path: what`; empty when it matches the schema.

    Args:
        value: What to check.
        schema: What it must match.
        work: What the check may cost.

    Raises:
        InvalidAnswerSchema: The schema is invalid, has an external reference, never terminates, or
            takes too long.
    """
    try:
        validator = _validator(json.dumps(schema))
        _WORK.set([work])
        errors = cast("Iterator[ValidationError]", cast("Any", validator).iter_errors(value))
        found = list(islice(errors, _MAX_CHECKED))
    except Unresolvable as error:
        missing: str = getattr(error, "anchor", error.ref)
        raise InvalidAnswerSchema(f"it refers to '#{missing}', which it does not define") from None
    except RecursionError:
        raise InvalidAnswerSchema("its references form an endless loop") from None
    found.sort(key=lambda error: [str(part) for part in error.absolute_path])
    described = list(dict.fromkeys(map(_describe, found)))
    return [*described[:MAX_ERRORS], "and others"] if len(described) > MAX_ERRORS else described


@lru_cache(maxsize=128)
def _validator(schema_text: str) -> Draft202012Validator:
    """Return the validator of a schema, cached: checking a schema costs more than an answer."""
    schema: Json = json.loads(schema_text)
    problem = schema_problem(schema)
    if problem is not None:
        raise InvalidAnswerSchema(problem)
    for node in subschemas(schema):
        # Always this draft: a validator of another one would bring its own pattern matching.
        node.pop("$schema", None)
    return _Validator(schema, registry=Registry())


_WORK: ContextVar[list[int]] = ContextVar("work")
"""What the check in progress may still cost."""

_Word = Callable[[Any, Any, JsonValue, Json], Iterator[ValidationError] | None]


def _charge(work: int) -> None:
    left = _WORK.get()
    left[0] -= work
    if left[0] < 0:
        raise InvalidAnswerSchema("it takes too long to check")


def _charge_keyword(word: _Word) -> _Word:
    """Wrap a keyword so that each evaluation is charged, and each error, which quotes the value."""

    def look(
        validator: Any, written: Any, value: JsonValue, schema: Json
    ) -> Iterator[ValidationError]:
        _charge(1)
        for error in word(validator, written, value, schema) or ():
            digits = number_steps(value) if isinstance(value, int | float) else 0
            _charge(1 + digits + weight(value) // _QUOTED_A_STEP)
            yield error

    return look


def _charged_by_size(word: _Word) -> _Word:
    """Wrap a keyword that looks at each entry of the value, or of what is written for it."""
    charged = _charge_keyword(word)

    def look(
        validator: Any, written: JsonValue, value: JsonValue, schema: Json
    ) -> Iterator[ValidationError]:
        _charge(names_steps(written) if isinstance(written, dict | list) else 0)
        _charge(names_steps(value) if isinstance(value, dict | list) else 0)
        yield from charged(validator, written, value, schema) or ()

    return look


def _charged_by_entry(word: _Word) -> _Word:
    """Wrap a keyword that makes an error for each entry of the value."""
    charged = _charge_keyword(word)

    def look(
        validator: Any, written: Any, value: JsonValue, schema: Json
    ) -> Iterator[ValidationError]:
        _charge(len(value) if isinstance(value, list) else 0)
        yield from charged(validator, written, value, schema) or ()

    return look


def _weigh_keyword(word: _Word) -> _Word:
    """Wrap a keyword that compares whole values, charged by their size."""
    charged = _charge_keyword(word)

    def look(
        validator: Any, written: Any, value: JsonValue, schema: Json
    ) -> Iterator[ValidationError]:
        _charge(weight(written) // 10)
        yield from charged(validator, written, value, schema) or ()

    return look


def _matches(
    validator: Any, text: Any, value: JsonValue, schema: Json
) -> Iterator[ValidationError]:
    if isinstance(value, str):
        pattern = schema_pattern(text)
        _charge(len(value) * pattern.programsize // 1000 + pattern.programsize // 5)
        if pattern.search(value) is None:
            yield ValidationError(f"{value!r} does not match {text!r}")


def _multiple(validator: Any, of: Any, value: JsonValue, schema: Json) -> Iterator[ValidationError]:
    match value:
        case bool():
            return
        case int() | float():
            fits = is_multiple(value, of)
        case _:
            return
    if not fits:
        yield ValidationError(f"{value!r} is not a multiple of {of!r}")


def _unique(
    validator: Any, unique: Any, value: JsonValue, schema: Json
) -> Iterator[ValidationError]:
    if unique is True and isinstance(value, list):
        _charge(weight(value) // 2)
        if len({canonical(item) for item in value}) < len(value):
            yield ValidationError(f"{value!r} has non-unique elements")


_ENTRY_WORDS = (
    "properties",
    "additionalProperties",
    "required",
    "dependentRequired",
    "dependentSchemas",
    "items",
    "prefixItems",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_LIBRARY: dict[str, _Word] = cast("Any", Draft202012Validator).VALIDATORS
_WORDS: dict[str, _Word] = {
    **{name: _charge_keyword(word) for name, word in _LIBRARY.items()},
    "enum": _weigh_keyword(_LIBRARY["enum"]),
    "const": _weigh_keyword(_LIBRARY["const"]),
    **{name: _charged_by_size(_LIBRARY[name]) for name in _ENTRY_WORDS},
    "pattern": _charge_keyword(_matches),
    "multipleOf": _charge_keyword(_multiple),
    "contains": _charged_by_entry(_LIBRARY["contains"]),
    "uniqueItems": _charge_keyword(_unique),
}
_Validator: type[Draft202012Validator] = cast("Any", _extend)(Draft202012Validator, _WORDS)


def _describe(error: ValidationError) -> str:
    # The branch of a failed `anyOf` that came nearest explains most.
    nearest: ValidationError = cast("Any", _best_match)([error])
    return f"{nearest.json_path}: {_short(nearest.message)}"


def _short(message: str) -> str:
    """Shorten a message that quotes a large value, in the middle."""
    if len(message) <= _MAX_ERROR_LENGTH:
        return message
    half = _MAX_ERROR_LENGTH // 2
    return f"{message[:half]} … {message[-half:]}"
