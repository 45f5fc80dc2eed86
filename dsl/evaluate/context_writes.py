"""Context writes: what one step, or one route, does to a path of the context."""

from typing import Literal, NamedTuple, get_args

from pydantic import JsonValue

Operation = Literal["append", "extend", "merge", "increment", "remove"]
"""What a write does with the value that is there; a write without one replaces it."""

OPERATIONS: tuple[Operation, ...] = get_args(Operation)


class ContextWrite(NamedTuple):
    """One write, with every template filled."""

    path: str
    """As `dsl.paths.path_text` writes it."""
    value: JsonValue
    operation: Operation | None = None
    """None replaces what is there."""


class WrittenValue(NamedTuple):
    """A value of `context_updates`, as a document says it."""

    operation: Operation | None
    value: JsonValue
    """The operand, or the value that replaces; templates are not filled."""


def written_value(value: JsonValue) -> WrittenValue:
    """Split an operation, `{append: x}`, from a plain value that replaces.

    A mapping whose only key is an operation is one. A template that gives such a mapping is a
    value: it decides nothing about the operation.
    """
    if isinstance(value, dict) and len(value) == 1:
        for operation in OPERATIONS:
            if operation in value:
                return WrittenValue(operation, value[operation])
    return WrittenValue(None, value)
