"""The data of steps that call nothing themselves: each kind has a form of its own."""

from collections.abc import Callable, Sequence

from coterie.dsl.model.steps import BlockStep, ParallelStep, ReplyStep, ReturnStep, Step
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import Json, JsonValue, closed_mapping

SchemaOf = Callable[[Step], Json | None]
"""Returns the schema of a step's data; None if unknown."""

_ERROR: Json = {
    "anyOf": [
        closed_mapping({"type": {"type": "string"}, "message": {"type": "string"}}),
        {"type": "null"},
    ]
}


def step_data(step: Step, schema_of: SchemaOf) -> Json | None:
    """Return the schema of the data of a step that succeeds; None if its kind has none.

    Args:
        step: of a team or plan.
        schema_of: for the steps within it.
    """
    match step:
        case BlockStep(steps=steps):
            return last_data(steps, schema_of)
        case ParallelStep():
            return _parallel(step, schema_of)
        case ReplyStep(value=value) | ReturnStep(value=value):
            return written_form(value)
        case _:
            return step.data_form


def written_form(value: JsonValue) -> Json | None:
    """Return the schema of a mapping that a document writes, with templates for its values."""
    if not isinstance(value, dict) or not value or any(map(is_template, value)):
        return None
    return closed_mapping({key: written_form(below) or {} for key, below in value.items()})


def last_data(steps: Sequence[Step], schema_of: SchemaOf) -> Json | None:
    """Return the schema of the data of the last step, if it always runs."""
    match steps:
        case (*_, last) if last.when is None and last.on_failure is None:
            return schema_of(last)
        case _:
            return None


def _parallel(step: ParallelStep, schema_of: SchemaOf) -> Json:
    forms = {
        name: last_data(branch.steps, schema_of) for name, branch in step.ranked_branches.items()
    }
    properties: Json = {name: _branch(form) for name, form in forms.items()}
    if step.join != "all":
        known: list[JsonValue] = [form for form in forms.values() if form is not None]
        properties["winner"] = {"enum": [*forms, None]}
        properties["result"] = _or_null(*known) if len(known) == len(forms) else {}
    return closed_mapping(properties)


def _branch(data: Json | None) -> Json:
    return closed_mapping(
        {
            "status": {"enum": ["success", "failure", "skipped", "cancelled"]},
            "success": {"type": "boolean"},
            "data": {} if data is None else _or_null(data),
            "error": _ERROR,
            "score": {"type": ["number", "null"]},
            "seconds": {"type": "number", "minimum": 0},
        }
    )


def _or_null(*forms: JsonValue) -> Json:
    return {"anyOf": [*forms, {"type": "null"}]}
