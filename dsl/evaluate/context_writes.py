"""Context writes: what one step, or one route, does to a path of the context. Pure."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, get_args

from pydantic import JsonValue

from coterie.dsl.errors import EvaluationLimitExceeded, TemplateFailed
from coterie.dsl.templates.path_templates import fill_path
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.values import Json

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


def filled_write(key: str, value: JsonValue, names: Mapping[str, object]) -> ContextWrite:
    """Render one update, including the templates of its key.

    Raises:
        TemplateFailed: a template cannot be filled; the message names the update.
    """
    update = written_value(value)
    try:
        return ContextWrite(fill_path(key, names), fill(update.value, names), update.operation)
    except EvaluationLimitExceeded as error:
        message = f"the context update {key!r}: {error}"
        raise EvaluationLimitExceeded(message, bound=error.bound) from None
    except TemplateFailed as error:
        raise TemplateFailed(f"the context update {key!r}: {error}") from None


def shown_writes(writes: Iterable[ContextWrite]) -> Json:
    """Return the writes as `{path: value, or {operation: operand}}`; of one path, the last."""
    return {
        path: value if operation is None else {operation: value}
        for path, value, operation in writes
    }
