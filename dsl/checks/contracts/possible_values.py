"""The values that a part of an input can have when its skill reads it: as lenient as skills are."""

import re

from pydantic import JsonValue

from coterie.dsl.json_values import json_equal
from coterie.dsl.templates.literal_parts import Part, PartText, Unknown

_NUMBER = re.compile(r"\s*[+-]?(\d[\d_]*)?\.?\d*([eE][+-]?\d+)?\s*\Z")

_IN_A_NUMBER = re.compile(r"[\d\s+\-._eE]*\Z")

_TRUTH = ("true", "false", "yes", "no", "on", "off", "t", "f", "y", "n", "1", "0")


def may_be(given: Part, kind: str) -> bool:
    """Return whether a value of the input can count as this type of JSON Schema."""
    match kind:
        case "string":
            return isinstance(given, str | PartText)
        case "integer":
            return _may_be_number(given) and not (isinstance(given, float) and given % 1 != 0)
        case "number":
            return _may_be_number(given)
        case "boolean":
            return (
                isinstance(given, bool | PartText)
                or (isinstance(given, int | float) and given in (0, 1))
                or (isinstance(given, str) and given.lower() in _TRUTH)
            )
        case "array":
            return isinstance(given, list)
        case "object":
            return isinstance(given, dict)
        case _:
            return given is None


def _may_be_number(given: Part) -> bool:
    match given:
        case bool() | int() | float():
            return True
        case str():
            return bool(_NUMBER.match(given)) and any(letter.isdigit() for letter in given)
        case PartText(pieces=pieces):
            return all(_IN_A_NUMBER.match(piece) for piece in pieces)
        case _:
            return False


def may_equal(given: Part, word: JsonValue) -> bool:
    """Return whether a value of the input can equal a word of an enum, in any case."""
    match given:
        case str() if isinstance(word, str):
            return given.strip().lower() == word.lower()
        case PartText(pieces=pieces) if isinstance(word, str):
            between = "(?s:.*)".join(re.escape(piece.lower()) for piece in pieces)
            return re.fullmatch(rf"\s*{between}\s*", word.lower()) is not None
        case list():
            return (
                isinstance(word, list)
                and len(word) == len(given)
                and all(map(may_equal, given, word))
            )
        case dict():
            return (
                isinstance(word, dict)
                and word.keys() == given.keys()
                and all(may_equal(given[key], word[key]) for key in given)
            )
        case Unknown():
            return True
        case PartText():
            return False
        case _:
            return json_equal(given, word)
