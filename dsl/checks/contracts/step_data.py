"""The data of steps that call nothing themselves: each kind has a form of its own."""

from collections.abc import Callable, Sequence
from typing import assert_never

from coterie.dsl.model.steps import (
    AgentStep,
    ApprovalStep,
    BlockStep,
    BranchStep,
    FailStep,
    LoopStep,
    ParallelStep,
    ReplyStep,
    ReturnStep,
    SetStep,
    SkillStep,
    Step,
    TaskGraphStep,
    TeamStep,
    ToolStep,
    TryStep,
    WaitStep,
)
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import Json, JsonValue

SchemaOf = Callable[[Step], Json | None]
"""Returns the schema of a step's data; None if unknown."""

_TEXT: Json = {"type": "string"}
_COUNT: Json = {"type": "integer", "minimum": 0}
_STATUSES: tuple[str, ...] = (
    "pending",
    "in_progress",
    "completed",
    "failed",
    "blocked",
    "skipped",
)


def _closed_mapping(properties: Json, *optional: str) -> Json:
    """Return the schema of a mapping with these keys and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


_OF_LOOPS = _closed_mapping(
    {
        "rounds": _COUNT,
        "results": {"type": "array"},
        "completed": {"type": "boolean"},
        "dropped": {"type": "integer", "minimum": 1},
    },
    "dropped",
)
_OF_GRAPHS = _closed_mapping(
    {
        "tasks": {
            "type": "array",
            "items": _closed_mapping(
                {
                    "id": _TEXT,
                    "status": {"enum": [*_STATUSES]},
                    "because": _TEXT,
                    "attempts": _COUNT,
                    "data": {},
                }
            ),
        },
        "counts": _closed_mapping(dict.fromkeys(_STATUSES, _COUNT)),
        "iterations": _COUNT,
        "completed": {"type": "boolean"},
        "notes": {"type": "array"},
        "dropped": {"type": "integer", "minimum": 1},
    },
    "dropped",
)
_ERROR: Json = {"anyOf": [_closed_mapping({"type": _TEXT, "message": _TEXT}), {"type": "null"}]}


def step_data(step: Step, schema_of: SchemaOf) -> Json | None:
    """Return the schema of the data of a step that succeeds; None if its kind has none.

    Args:
        step: of a team or plan.
        schema_of: for the steps within it.
    """
    match step:
        case LoopStep():
            return _OF_LOOPS
        case TaskGraphStep():
            return _OF_GRAPHS
        case ParallelStep():
            return _parallel(step, schema_of)
        case BranchStep():
            return _closed_mapping({"chosen": {"type": ["integer", "null"]}, "data": {}})
        case ApprovalStep(editable=editable):
            verdict: Json = {"enum": ["approved", "rejected"]}
            shown: Json = {"decision": verdict, "by": {}, "comment": {}, "at": {}}
            return _closed_mapping(shown | ({"payload": {}} if editable else {}))
        case WaitStep(message=True, schema_=schema):
            return schema
        case WaitStep(signal=None):
            return _closed_mapping({"until": _TEXT})
        case ReplyStep(value=value) | ReturnStep(value=value):
            return written_form(value)
        case (
            AgentStep()
            | SkillStep()
            | ToolStep()
            | TeamStep()
            | WaitStep()  # for a signal
            | TryStep()
            | BlockStep()
            | SetStep()
            | FailStep()
        ):
            return None
        case _:
            assert_never(step)


def written_form(value: JsonValue) -> Json | None:
    """Return the schema of a mapping that a document writes, with templates for its values."""
    if not isinstance(value, dict) or not value or any(map(is_template, value)):
        return None
    return _closed_mapping({key: written_form(below) or {} for key, below in value.items()})


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
    return _closed_mapping(properties)


def _branch(data: Json | None) -> Json:
    return _closed_mapping(
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
