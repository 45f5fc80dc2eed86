"""Misspelled operations of context updates."""

from pydantic import JsonValue

from coterie.dsl.evaluate.context_writes import OPERATIONS, Operation
from coterie.dsl.templates.template import is_template

_WORDS = ("emerge", "extent", "remote", "verge")
"""Words of data that are one letter away from an operation."""


def misspelt_operation(value: JsonValue) -> tuple[str, Operation] | None:
    """Return the key of a mapping with one key, and the operation that it misspells.

    None if the mapping may be a value: its key is a word, or no operation takes what it holds.
    """
    if not isinstance(value, dict) or len(value) != 1:
        return None
    ((name, operand),) = value.items()
    word = name.lower()
    for operation in OPERATIONS:
        if name == operation or not takes(operation, operand):
            continue
        is_ending = word.startswith(operation) and word != operation  # `removed`
        if not is_ending and word not in _WORDS and _is_one_slip(word, operation):
            return name, operation
    return None


def takes(operation: str, operand: JsonValue) -> bool:
    """Whether an operation takes the value, or what its template may give."""
    if isinstance(operand, str) and is_template(operand):
        return True
    match operation:
        case "extend":
            return isinstance(operand, list)
        case "merge":
            return isinstance(operand, dict)
        case "increment":
            return isinstance(operand, int | float) and not isinstance(operand, bool)
        case _:
            return True


def _is_one_slip(word: str, meant: str) -> bool:
    """Whether one letter is missing, added, wrong or swapped with its neighbour, at most."""
    if word == meant:
        return True
    start = next((i for i, (a, b) in enumerate(zip(word, meant, strict=False)) if a != b), None)
    if start is None:
        return abs(len(word) - len(meant)) == 1
    rest, wanted = word[start:], meant[start:]
    return (
        rest[1:] == wanted[1:]
        or rest[1:] == wanted
        or rest == wanted[1:]
        or (rest[:2] == wanted[1::-1] and rest[2:] == wanted[2:])
    )
