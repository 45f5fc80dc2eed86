"""Context updates: render `{key: value}` of a document into writes. Pure."""

from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from coterie.dsl.errors import EvaluationLimitExceeded, TemplateFailed
from coterie.dsl.evaluate.context_writes import ContextWrite, written_value
from coterie.dsl.templates.path_templates import fill_path
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.values import Json


def filled_write(key: str, value: JsonValue, names: Mapping[str, object]) -> ContextWrite:
    """Render one update, including the templates of its key.

    Raises:
        TemplateFailed: a template cannot be filled; the message names the update.
    """
    written = written_value(value)
    try:
        return ContextWrite(fill_path(key, names), fill(written.value, names), written.operation)
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
