"""Checks of conditions: what they name, their operator values, and what declared data allows."""

import re
from collections.abc import Collection, Iterator, Sequence

from pydantic import JsonValue

from coterie.dsl.checks.contracts.known_answers import schema_at
from coterie.dsl.checks.contracts.outputs import Declared
from coterie.dsl.checks.steps.context_paths import check_read, context_path
from coterie.dsl.checks.steps.step_scope import StepScope, TextSpot
from coterie.dsl.checks.steps.template_checks import OwnResult, check_field, check_value
from coterie.dsl.errors import MAX_LISTED, asked_back, closest, listed, nearest, replaced_by_nearest
from coterie.dsl.evaluate.declared_values import bounded, one_of
from coterie.dsl.evaluate.operator_table import (
    WITHOUT_VALUE,
    unusable_pattern,
    wrong_value,
)
from coterie.dsl.logic.claims import Claim, possible
from coterie.dsl.model.conditions import (
    Condition,
    ContextField,
    Expression,
    Operator,
    TaskField,
    TaskStatus,
)
from coterie.dsl.model.traversal.step_walk import leaves
from coterie.dsl.paths import MISSING
from coterie.dsl.paths import parse as parse_path
from coterie.dsl.problem_details import Details, ProblemText, rule
from coterie.dsl.source.nodes import Place
from coterie.dsl.templates.jsonable import brief
from coterie.dsl.templates.template import is_template, parse
from coterie.dsl.templates.template_rules import BadTemplate
from coterie.dsl.values import Json, NodePath

_TEMPLATE = re.compile(r"\{\{.*\}\}", re.DOTALL)


def check_condition(
    scope: StepScope, condition: Condition, path: NodePath, own: OwnResult | None = None
) -> None:
    """Check each test of a condition."""
    for leaf, inner_path in leaves(condition, path):
        match leaf:
            case TaskField(task=task):
                _check_task(scope, task, (*inner_path, "task"))
                _check_task_field(scope, leaf, (*inner_path, "output_field"))
                _check_operator_value(scope, leaf, inner_path)
            case TaskStatus(task=task):
                _check_task(scope, task, (*inner_path, "task"))
            case ContextField(context_field=field_path):
                scope.reads.context[field_path] = None
                _check_context_field(scope, leaf, (*inner_path, "context_field"))
                _check_operator_value(scope, leaf, inner_path)
            case Expression(expression=text):
                _check_expression(scope, text, inner_path, own)
            case _:
                pass
        _check_declared_data(scope, leaf, inner_path)


def _check_task(scope: StepScope, task: str, path: NodePath) -> None:
    if task not in scope.task_names:
        scope.unknown("task", task, scope.task_names, path)


_OUTCOMES = ("all_success", "any_success", "any_failure", "all_failure")


@rule("E109")
def not_a_condition(text: str) -> ProblemText:
    return ProblemText(
        f"{text!r} is not a condition",
        f"{', '.join(_OUTCOMES)}, or {{{{ ... }}}}",
        nearest(text, _OUTCOMES),
        edit=replaced_by_nearest(text, _OUTCOMES),
    )


@rule("E109")
def text_around_condition(text: str) -> ProblemText:
    return ProblemText(
        f"the text {text!r} is not a condition: it always holds",
        "one expression: {{ ... }} around all of it",
        "write the comparison inside the braces",
    )


def _check_expression(scope: StepScope, text: str, path: NodePath, own: OwnResult | None) -> None:
    if not is_template(text):
        scope.report_value(not_a_condition(text), path)
        return
    check_value(scope, text, (*path, "expression"), own)
    try:
        single = parse(text).single
    except BadTemplate:
        return  # reported with all templates
    if not single:
        scope.report_value(text_around_condition(text), path)


def _check_task_field(scope: StepScope, leaf: TaskField, path: NodePath) -> None:
    """Check that a task's data can have a value at the path."""
    schema = scope.outputs.tasks.get(leaf.task)
    if schema is not None:
        field = Declared(("tasks", leaf.task, "data"), schema, parse_path(leaf.output_field))
        check_field(scope, field, TextSpot(path))


def _check_context_field(scope: StepScope, leaf: ContextField, leaf_path: NodePath) -> None:
    """Check that the path is declared, and that its declared form can have it."""
    path = parse_path(leaf.context_field)
    check_read(scope, path, TextSpot(leaf_path))
    declared = scope.outputs.declared(("context", *path))
    if declared is not None:
        check_field(scope, declared, TextSpot(leaf_path))


def _check_operator_value(scope: StepScope, leaf: TaskField | ContextField, path: NodePath) -> None:
    """Check that an operator can use its value, unless a problem already explains why not."""
    details = _wrong_operand(leaf)
    if details is None:
        return
    if any(p.code.startswith(("E1", "E401")) for p in scope.problems.below(path)):
        return  # the missing field may be misspelled
    if details.code == "E102":
        scope.problems.report(details, Place(scope.tree.find(path).at, (*path, "value")))
    else:
        scope.report_value(details, (*path, "value"))


@rule("E102")
def value_missing(operator: str, without_value: Collection[str]) -> ProblemText:
    return ProblemText(
        f"the key 'value' is missing: the operator {operator!r} compares with nothing",
        fix="add `value:`, or an operator that needs none: " + listed(without_value),
    )


@rule("E402")
def template_as_value(value: str) -> ProblemText:
    return ProblemText(
        f"the value {value!r} looks like a template, but is compared as a literal text",
        fix='write the condition as one expression: `condition: "{{ context.a == context.b }}"`',
    )


@rule("E402")
def value_of_operator(operator: str, wanted: str, value: JsonValue) -> ProblemText:
    return ProblemText(f"the operator {operator!r} {wanted}, not {value!r}")


@rule("E403")
def broken_pattern(text: str, reason: str) -> ProblemText:
    return ProblemText(
        f"the regular expression {text!r} does not compile: {reason}",
        fix="use RE2 syntax: no look-around, no back references",
    )


def _wrong_operand(leaf: TaskField | ContextField) -> Details | None:
    """Return what is wrong with the value of an operator."""
    if "value" not in leaf.model_fields_set and leaf.operator not in WITHOUT_VALUE:
        return value_missing(leaf.operator, WITHOUT_VALUE)
    if isinstance(leaf.value, str) and _TEMPLATE.search(leaf.value):
        return template_as_value(leaf.value)
    wrong = wrong_value(leaf.operator, leaf.value)
    if wrong is not None:
        return value_of_operator(leaf.operator, wrong, leaf.value)
    broken = unusable_pattern(leaf.operator, leaf.value)
    return None if broken is None else broken_pattern(*broken)


_TYPES = {
    "string": "string",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "array": "list",
    "object": "mapping",
    "null": "null",
}
"""`{type of JSON Schema: its name in `is_type`}`."""

_BOUNDS: dict[str, tuple[tuple[str, Operator], ...]] = {
    "number": (
        ("minimum", "greater_or_equal"),
        ("maximum", "less_or_equal"),
        ("exclusiveMinimum", "greater_than"),
        ("exclusiveMaximum", "less_than"),
    ),
    "string": (("minLength", "min_length"), ("maxLength", "max_length")),
    "array": (("minItems", "min_length"), ("maxItems", "max_length")),
}
_BOUNDS["integer"] = _BOUNDS["number"]


def _check_declared_data(scope: StepScope, leaf: Condition, path: NodePath) -> None:
    """Check a condition on data whose form is declared: of a task, or in the context."""
    match leaf:
        case TaskField(task=task, output_field=field):
            named = ("tasks", task, "data", *parse_path(field))
        case ContextField(context_field=field):
            named = ("context", *parse_path(field))
        case _:
            return
    declared = scope.outputs.declared(named)
    if declared is not None:
        _check_data(scope, leaf, declared, path)


@rule("E404")
def decided_condition(
    what: str,
    data: str,
    operator: str,
    value: str,
    *,
    allowed: Sequence[str],
    meant: str | None,
    unquoted: str | None,
    always: bool,
) -> ProblemText:
    fix = asked_back(meant) if unquoted is None else f"write {unquoted} without quotes"
    return ProblemText(
        f"the condition {'always' if always else 'never'} holds: {what} is "
        f"{data}, and {operator!r} compares with {value}",
        ", ".join(allowed),
        fix,
    )


def _check_data(
    scope: StepScope, leaf: TaskField | ContextField, declared: Declared, path: NodePath
) -> None:
    """Note a condition that the declared data never meets, or always meets.

    A condition that already has a problem gets no other.
    """
    here = schema_at(declared.schema, declared.path)
    if here is None or _wrong_operand(leaf) is not None:
        return
    always = leaf.operator == "not_equals"
    operator = "equals" if always else leaf.operator
    if possible_in(here, operator, leaf.value) or any(scope.problems.below(path)):
        return
    key_path = (*path, "value" if "value" in leaf.model_fields_set else "operator")
    schema = here if scope.problems.describes("E404") else {}
    details = decided_condition(
        _field(leaf),
        _data(schema),
        leaf.operator,
        brief(leaf.value),
        allowed=_briefs(_few(schema) or ()),
        meant=_nearest_word(schema, leaf.value),
        unquoted=_without_quotes(schema, operator, leaf.value),
        always=always,
    )
    scope.report_value(details, key_path)


def _field_of_task(field: str, task: str) -> str:
    return f"{field} of task {task!r}"


def _field(leaf: TaskField | ContextField) -> str:
    """Return the field that a condition tests, as a sentence names it."""
    if isinstance(leaf, TaskField):
        return _field_of_task(leaf.output_field, leaf.task)
    return context_path(leaf.context_field)


def possible_in(schema: Json, operator: Operator, value: JsonValue) -> bool:
    """Return whether data of the schema, or its absence, can make the operator hold.

    Sound: "no" is certain. If the schema does not restrict the data, everything is possible.
    """
    claim = Claim(operator, value)
    if claim.fits(MISSING):
        return True
    few = _few(schema)
    if few is not None:
        if operator == "equals" and isinstance(value, str):
            return value in few  # thousands of conditions may ask for one of thousands of words
        return any(claim.fits(item) for item in few)
    types = _types(schema)
    if not types:
        return True
    return any(
        possible([claim, Claim("is_type", _TYPES[name]), *_bounds(schema, name)]) for name in types
    )


def _few(schema: Json) -> list[JsonValue] | None:
    """Return all possible values, if the schema lists them."""
    if "const" in schema:
        return [schema["const"]]
    listed = schema.get("enum")
    return listed if isinstance(listed, list) else None


def _types(schema: Json) -> list[str]:
    """Return the types that the schema allows; none if it does not restrict them, or is invalid."""
    types = schema.get("type")
    names = types if isinstance(types, list) else [types]
    known_types = [name for name in names if isinstance(name, str) and name in _TYPES]
    return known_types if len(known_types) == len(names) else []


def _bounds(schema: Json, name: str) -> Iterator[Claim]:
    for key, operator in _BOUNDS.get(name, ()):
        bound = schema.get(key)
        if isinstance(bound, int | float) and not isinstance(bound, bool):
            yield Claim(operator, bound)


def _data(schema: Json) -> str:
    few = _few(schema)
    if few is not None:
        return one_of(_briefs(few))
    types = _types(schema)
    bounds = [
        (key, brief(schema[key]))
        for name in types
        for key, _ in _BOUNDS.get(name, ())
        if key in schema
    ]
    return bounded(types, bounds)


def _briefs(values: Sequence[JsonValue]) -> list[str]:
    """Return values for a sentence; of very many the first, and how many there are besides."""
    more = len(values) - MAX_LISTED
    texts = [brief(value) for value in values[:MAX_LISTED]]
    return [*texts, f"and {more:,} more"] if more > 0 else texts


def _words(schema: Json) -> list[str]:
    return [value for value in _few(schema) or () if isinstance(value, str)]


def _nearest_word(schema: Json, value: JsonValue) -> str | None:
    """Return the nearest word of the schema's list."""
    if not isinstance(value, str):
        return None
    words = _words(schema)
    same = next((word for word in words if word.lower() == value.lower()), None)
    return same or closest(value, words)


def _without_quotes(schema: Json, operator: Operator, value: JsonValue) -> str | None:
    """Return the text, if without its quotes it is a number that the data can be."""
    if not isinstance(value, str) or value.lower() in map(str.lower, _words(schema)):
        return None
    number = _number(value)
    fits = number is not None and possible_in(schema, operator, number)
    return value if fits else None


def _number(text: str) -> float | None:
    try:
        return float(text) if text.lstrip("-")[:1].isdigit() else None
    except ValueError:
        return None
