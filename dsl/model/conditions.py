"""The condition union: what a rule, a branch or a `when` may test.

Only the types are here. `dsl.evaluate.condition_evaluation` evaluates them; `dsl.normalise.forms`
converts every written form (lists, strings, older forms) into these types, so a plan contains
nothing else.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Discriminator, Field, JsonValue, Tag
from typing_extensions import TypeAliasType

from coterie.dsl.values import Frozen

Operator = Literal[
    "equals",
    "not_equals",
    "contains",
    "contains_any",
    "contains_all",
    "greater_than",
    "less_than",
    "greater_or_equal",
    "less_or_equal",
    "exists",
    "is_empty",
    "is_null",
    "starts_with",
    "ends_with",
    "matches",
    "in",
    "in_range",
    "is_type",
    "has_length",
    "min_length",
    "max_length",
]
"""Every operator by its full name; `OPERATORS` has the short names."""

Status = Literal["success", "failure", "skipped"]
TeamEnd = Literal["all_success", "any_success", "any_failure", "all_failure"]


class TaskField(Frozen):
    """A field of a task's data, compared with a value."""

    task: str
    output_field: str
    """Dotted path within the task's data."""
    operator: Operator = "equals"
    value: JsonValue = None


class TaskStatus(Frozen):
    """The status of a task."""

    task: str
    status: Status


class ContextField(Frozen):
    """A field of the run's context, compared with a value."""

    context_field: str
    """Dotted path within the context."""
    operator: Operator = "equals"
    value: JsonValue = None


class AllOf(Frozen):
    """Every condition holds; a list of conditions has this meaning."""

    all_of: tuple["Condition", ...] = Field(alias="and")


class AnyOf(Frozen):
    """At least one condition holds."""

    any_of: tuple["Condition", ...] = Field(alias="or")


class Not(Frozen):
    """The condition does not hold."""

    negated: "Condition" = Field(alias="not")


class TeamOutcome(Frozen):
    """The common outcome of the team's tasks, written as a bare string."""

    outcome: TeamEnd


class Expression(Frozen):
    """A template expression, true or false: `"{{ context.attempts > 2 }}"`."""

    expression: str


CONDITION_KEYS: dict[str, str] = {
    "output_field": "condition:TaskField",
    "status": "condition:TaskStatus",
    "context_field": "condition:ContextField",
    "and": "condition:AllOf",
    "or": "condition:AnyOf",
    "not": "condition:Not",
    "outcome": "condition:TeamOutcome",
    "expression": "condition:Expression",
    "task": "condition:TaskField",
}
"""The keys that imply the kind, strongest first."""


def condition_tag(value: object) -> str | None:
    """Return the union tag of a condition, written or parsed; None when no key implies its kind."""
    if isinstance(value, Mapping):
        return next((tag for key, tag in CONDITION_KEYS.items() if key in value), None)
    return f"condition:{type(value).__name__}"


UNKNOWN_CONDITION = "unknown_condition_kind"
"""The type of pydantic's error for it."""

# An alias of its own: pydantic then builds the union once, not for each field that has it.
Condition = TypeAliasType(
    "Condition",
    Annotated[
        Annotated[TaskField, Tag("condition:TaskField")]
        | Annotated[TaskStatus, Tag("condition:TaskStatus")]
        | Annotated[ContextField, Tag("condition:ContextField")]
        | Annotated[AllOf, Tag("condition:AllOf")]
        | Annotated[AnyOf, Tag("condition:AnyOf")]
        | Annotated[Not, Tag("condition:Not")]
        | Annotated[TeamOutcome, Tag("condition:TeamOutcome")]
        | Annotated[Expression, Tag("condition:Expression")],
        Discriminator(
            condition_tag,
            custom_error_type=UNKNOWN_CONDITION,
            custom_error_message="a condition of no known kind",
        ),
    ],
)
