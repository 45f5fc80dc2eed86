"""Say in the words of the language why an operation has no value, not in those of Python."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, cast

_ITEMS: Final = 100
"""Items of a list whose kinds are named."""


class OperandError(TypeError):
    """An operation does not take its operands; the message is whole."""


def refused(error: Exception, operator: str, *operands: object) -> OperandError:
    """Return the error of an operator that does not take its operands, instead of Python's."""
    match error:
        case OperandError():
            return error
        case ZeroDivisionError():
            return OperandError("division by zero")
        case _:
            kinds = " and ".join(kind_of(operand) for operand in operands)
            texts = operator == "+" and any(isinstance(operand, str) for operand in operands)
            hint = "; `~` joins texts" if texts else ""
            return OperandError(f"`{operator}` does not take {kinds}{hint}")


def refused_call(error: Exception, name: str, value: object, *arguments: object) -> OperandError:
    """Return the error of a filter or a method that does not take its value or its arguments."""
    if isinstance(error, OperandError):
        return error
    argument_text = f" with {' and '.join(map(kind_of, arguments))}" if arguments else ""
    return OperandError(f"`{name}` does not take {kind_of(value)}{argument_text}")


def kind_of(value: object) -> str:
    """Name the kind of a value: `a text`, `null`, `a list of numbers and texts`."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case Mapping():
            return "a mapping"
        case list() | tuple():
            items = cast("list[object]", value)
            kinds = dict.fromkeys(_plural(item) for item in islice(items, _ITEMS))
            return f"a list of {' and '.join(kinds)}" if kinds else "an empty list"
        case Iterator() | range():
            return "a list"
        case _:
            return "a value that is not data"


def _plural(value: object) -> str:
    match value:
        case None:
            return "nulls"
        case bool():
            return "booleans"
        case int() | float():
            return "numbers"
        case str():
            return "texts"
        case Mapping():
            return "mappings"
        case list() | tuple() | Iterator() | range():
            return "lists"
        case _:
            return "values that are not data"
