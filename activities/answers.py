"""From a model's text to data: found, read strictly, checked. Pure.

Models wrap JSON in prose and code fences. The outermost JSON value is taken if there is exactly
one; between two, or inside a broken one, nothing is guessed: the problem goes back to the model.
"""

import json
import math
import re
from dataclasses import dataclass
from typing import NoReturn

from pydantic import JsonValue

from activities.answer_schema import schema_errors
from dsl.values import Json

MAX_DEPTH = 100
"""How deep an answer may be nested; what is deeper breaks those who read it later."""

_BRACKET = re.compile(r"[\[\]{}]")
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_FENCE = re.compile(r"^ {0,3}```[^`\n]*$", re.MULTILINE)
_MAX_BRACKETS = 1000  # in prose; each costs a look at the whole text
_NO_CHARACTER = "the answer holds half of a surrogate pair, which is no character"


@dataclass(frozen=True, slots=True)
class AnswerProblem:
    """Why an answer cannot be used, in words that also help the model to mend it."""

    message: str


class _Unsound(Exception):
    """JSON that reads in more than one way, or that not every reader can read."""


def parse_answer(text: str, schema: Json | None) -> JsonValue | AnswerProblem:
    """The data of an answer, or what is wrong with it.

    Args:
        text: What the model wrote.
        schema: What the data must meet; without one the data is `{"text": text}`.

    Raises:
        SchemaFault: the schema itself cannot be used; no answer could ever meet it.
    """
    if schema is None:
        return {"text": text} if _is_unicode(text) else AnswerProblem(_NO_CHARACTER)
    value = read_json(text)
    if isinstance(value, AnswerProblem):
        return value
    errors = schema_errors(value, schema)
    if errors:
        return AnswerProblem("the answer does not meet the output schema: " + "; ".join(errors))
    return value


def read_json(text: str) -> JsonValue | AnswerProblem:
    """The one JSON value in a text: all of it, or fenced, or with prose around it."""
    text = text.removeprefix("\ufeff").strip()
    if not text:
        return AnswerProblem("the answer is empty; it must be one JSON value")
    try:
        found = _whole(text) or _fenced(text) or _values_in(text)
    except _Unsound as error:
        return AnswerProblem(str(error))
    except (ValueError, RecursionError) as error:
        return AnswerProblem(f"the answer is not JSON: {_why(error)}")
    if len(found) == 1:
        return found[0]
    counted = f"{len(found)} JSON values" if found else "no JSON value"
    return AnswerProblem(f"the answer holds {counted}; it must hold exactly one")


def _whole(text: str) -> list[JsonValue]:
    """The value that the text is, if it is one."""
    try:
        return [_sound(_DECODER.decode(text), text)]
    except json.JSONDecodeError:
        return []


def _fenced(text: str) -> list[JsonValue]:
    """The value in the one fence of the text, if it is one and the prose has no brackets.

    Only a fence makes a value of a text, a number, a boolean or null.
    """
    match list(_FENCE.finditer(text)):
        case [first, last] if not _BRACKET.search(text[: first.start()] + text[last.end() :]):
            return _whole(text[first.end() : last.start()].strip())
        case _:
            return []


def _values_in(text: str) -> list[JsonValue]:
    """Objects and arrays that lie in no other.

    Raises:
        ValueError: there is a broken value and no other; or a bracket is left open or closes
            nothing, so that what looks like a value may be the inside of a broken one.
    """
    found: list[JsonValue] = []
    broken: list[ValueError] = []
    position = 0
    while bracket := _BRACKET.search(text, position):
        try:
            if bracket[0] in "]}":
                raise json.JSONDecodeError("A bracket closes nothing", text, bracket.start())
            value, position = _DECODER.raw_decode(text, bracket.start())
            found.append(value)
        except ValueError as error:
            broken.append(error)
            end = _balanced_end(text, bracket.start())
            if end is None or len(broken) > _MAX_BRACKETS:
                raise broken[0] from None
            position = end
    if broken and not found:
        raise broken[0]
    return [_sound(found[0], text)] if len(found) == 1 else found


def _balanced_end(text: str, start: int) -> int | None:
    """Where the bracket at `start` is closed, strings aside; None when it never is."""
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
    """The value that was read from the text, if every reader of JSON can read it."""
    if _depth(value) > MAX_DEPTH:
        raise _Unsound(f"the answer is nested deeper than {MAX_DEPTH} levels")
    # Only an escape can make half a character; without one, the text itself tells.
    if not _is_unicode(json.dumps(value, ensure_ascii=False) if "\\u" in text else text):
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


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_number(text: str) -> NoReturn:
    raise _Unsound(f"the answer holds {text[:40]}, which is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _unique(pairs: list[tuple[str, JsonValue]]) -> Json:
    mapping: Json = {}
    for key, value in pairs:
        if key in mapping:
            raise _Unsound(f"the answer gives the key {key!r} twice in one object")
        mapping[key] = value
    return mapping


# Not strict: models put line breaks into texts, and a line break means nothing else there.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_number, parse_float=_finite, strict=False
)
