"""Turn a model's text into data: find the JSON, parse it strictly, check it. Pure.

Models wrap JSON in prose and code fences. The parser takes the outermost JSON value if there is
exactly one. It never guesses between two, or inside a broken one: the problem goes back to the
model.
"""

import json
import math
import re
from dataclasses import dataclass
from typing import NoReturn

from pydantic import JsonValue

from coterie.dsl.json_schema.schema_checker import answer_mismatches
from coterie.dsl.values import Json
from coterie.dsl.visible import is_unicode

MAX_DEPTH = 100
"""Nesting depth of an answer; deeper values break later readers."""

_BRACKET = re.compile(r"[\[\]{}]")
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_FENCE = re.compile(r"^ {0,3}```[^`\n]*$", re.MULTILINE)
_MAX_BRACKETS = 1000  # in prose; each costs a look at the whole text
_NO_CHARACTER = "the answer contains half of a surrogate pair, which is not a character"


@dataclass(frozen=True, slots=True)
class AnswerProblem:
    """Why an answer is unusable, in words that also help the model to correct it."""

    message: str


class _Unsound(Exception):
    """JSON that is ambiguous, or that some JSON parsers reject."""


def parse_answer(text: str, schema: Json | None) -> JsonValue | AnswerProblem:
    """Return the data of an answer, or its problem.

    Args:
        text: What the model wrote.
        schema: What the data must match; without one the data is `{"text": text}`.

    Raises:
        UnusableSchema: The schema itself is unusable; no answer could match it.
    """
    if schema is None and not text.strip():
        return AnswerProblem("the answer is empty")
    if schema is None:
        return {"text": text} if is_unicode(text) else AnswerProblem(_NO_CHARACTER)
    value = read_json(text)
    if isinstance(value, AnswerProblem):
        return value
    errors = answer_mismatches(value, schema)
    if errors:
        return AnswerProblem("the answer does not match the output schema: " + "; ".join(errors))
    return value


def read_json(text: str) -> JsonValue | AnswerProblem:
    """Find the one JSON value in a text: the whole text, a fenced block, or within prose."""
    text = text.removeprefix("\ufeff").strip()
    if not text:
        return AnswerProblem("the answer is empty; it must be one JSON value")
    try:
        values = _whole(text) or _fenced_values(text) or _values_in(text)
    except _Unsound as error:
        return AnswerProblem(str(error))
    except (ValueError, RecursionError) as error:
        return AnswerProblem(f"the answer is not JSON: {_why(error)}")
    if len(values) == 1:
        return values[0]
    counted = f"{len(values)} JSON values" if values else "no JSON value"
    return AnswerProblem(f"the answer contains {counted}; it must contain exactly one")


def _whole(text: str) -> list[JsonValue] | None:
    """Parse the whole text as one value; None when it is not JSON."""
    try:
        return [_sound(_DECODER.decode(text), text)]
    except json.JSONDecodeError:
        return None


def _fenced_values(text: str) -> list[JsonValue] | None:
    """Parse the only fenced block, unless the prose around it has brackets.

    Only in a fence does a string, a number, a boolean or null count as a value.
    """
    match list(_FENCE.finditer(text)):
        case [first, last] if not _BRACKET.search(text[: first.start()] + text[last.end() :]):
            return _whole(text[first.end() : last.start()].strip())
        case _:
            return None


def _values_in(text: str) -> list[JsonValue]:
    """Find the outermost objects and arrays.

    Raises:
        ValueError: The only value is broken; or a bracket does not match, so that an apparent
            value may be the inside of a broken one.
    """
    values: list[JsonValue] = []
    broken: list[ValueError] = []
    position = 0
    while bracket := _BRACKET.search(text, position):
        try:
            if bracket[0] in "]}":
                raise json.JSONDecodeError("Unmatched closing bracket", text, bracket.start())
            value, position = _DECODER.raw_decode(text, bracket.start())
            values.append(value)
        except ValueError as error:
            broken.append(error)
            end = _balanced_end(text, bracket.start())
            if end is None or len(broken) > _MAX_BRACKETS:
                raise broken[0] from None
            position = end
    if broken and not values:
        raise broken[0]
    return [_sound(values[0], text)] if len(values) == 1 else values


def _balanced_end(text: str, start: int) -> int | None:
    """Find where the bracket at `start` closes, ignoring strings; None when it never does."""
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text, start):
        if token[0] in ("{", "["):
            depth += 1
        elif token[0] in ("}", "]"):
            depth -= 1
            if depth <= 0:
                return token.end() if depth == 0 else None
    return None


def _why(error: ValueError | RecursionError) -> str:
    match error:
        case json.JSONDecodeError():
            near = error.doc[max(0, error.pos - 20) : error.pos + 20]
            return f"{error.msg} at line {error.lineno} column {error.colno}, near {near!r}"
        case RecursionError():
            return f"it is nested deeper than {MAX_DEPTH} levels"
        case _:
            return str(error)


def _sound(value: JsonValue, text: str) -> JsonValue:
    """Return the parsed value if every JSON parser can read it."""
    if _depth(value) > MAX_DEPTH:
        raise _Unsound(f"the answer is nested deeper than {MAX_DEPTH} levels")
    # Only an escape can produce half a character; without one, the text itself shows it.
    if not is_unicode(json.dumps(value, ensure_ascii=False) if "\\u" in text else text):
        raise _Unsound(_NO_CHARACTER)
    return value


def _depth(value: JsonValue) -> int:
    level: list[JsonValue] = [value]
    depth = 0
    while level:
        depth += 1
        level = [
            child
            for parent in level
            if isinstance(parent, dict | list)
            for child in (parent.values() if isinstance(parent, dict) else parent)
        ]
    return depth


def _no_number(text: str) -> NoReturn:
    raise _Unsound(f"the answer contains {text[:40]}, which is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _unique(pairs: list[tuple[str, JsonValue]]) -> Json:
    mapping: Json = {}
    for key, value in pairs:
        if key in mapping:
            raise _Unsound(f"the answer has the key {key!r} twice in one object")
        mapping[key] = value
    return mapping


# Not strict: models put raw line breaks into strings, and the meaning is unambiguous.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_number, parse_float=_finite, strict=False
)
