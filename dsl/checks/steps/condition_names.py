"""Checks of conditions: their tasks, fields, operator values, regular expressions, templates."""

import re

from dsl.checks.contracts.outputs import Declared
from dsl.checks.steps.condition_checks import check_declared_data
from dsl.checks.steps.context_paths import check_read
from dsl.checks.steps.step_scope import StepScope
from dsl.checks.steps.template_checks import OwnResult, check_field, check_value
from dsl.evaluate.operators import WITHOUT_VALUE, wrong_value
from dsl.model.conditions import Condition, ContextField, Expression, TaskField, TaskStatus
from dsl.model.traversal.step_walk import leaves
from dsl.paths import parse as parse_path
from dsl.regular_expressions import pattern
from dsl.templates.template import is_template, parse
from dsl.templates.template_rules import BadTemplate
from dsl.values import NodePath
from dsl.wording.condition_wording import (
    broken_pattern,
    data_of_task,
    not_a_condition,
    template_as_value,
    text_around_condition,
    value_missing,
    value_of_operator,
)

_TEMPLATE = re.compile(r"\{\{.*\}\}", re.DOTALL)


def check_condition(
    scope: StepScope, condition: Condition, path: NodePath, own: OwnResult | None = None
) -> None:
    """Check each test of a condition."""
    for leaf, place in leaves(condition, path):
        match leaf:
            case TaskField(task=task):
                _check_task(scope, task, (*place, "task"))
                _check_task_field(scope, leaf, (*place, "output_field"))
                _check_operator_value(scope, leaf, place)
            case TaskStatus(task=task):
                _check_task(scope, task, (*place, "task"))
            case ContextField(context_field=field_path):
                scope.reads[field_path] = None
                _check_context_field(scope, leaf, (*place, "context_field"))
                _check_operator_value(scope, leaf, place)
            case Expression(expression=text):
                _check_expression(scope, text, place, own)
            case _:
                pass
        check_declared_data(leaf, scope.outputs, scope.tree, scope.problems, place)


def _check_task(scope: StepScope, task: str, path: NodePath) -> None:
    if task not in scope.task_names:
        scope.unknown("E206", "task", task, scope.task_names, path)


def _check_expression(scope: StepScope, text: str, path: NodePath, own: OwnResult | None) -> None:
    if not is_template(text):
        scope.note_value("E109", path, not_a_condition(text))
        return
    check_value(scope, text, (*path, "expression"), own)
    try:
        single = parse(text).single
    except BadTemplate:
        return  # reported with all templates
    if not single:
        scope.note_value("E109", path, text_around_condition(text))


def _check_task_field(scope: StepScope, leaf: TaskField, place: NodePath) -> None:
    """Check that a task's data can have a value at the path."""
    schema = scope.outputs.tasks.get(leaf.task)
    if schema is not None:
        field = Declared(data_of_task(leaf.task), schema, parse_path(leaf.output_field))
        check_field(scope, field, place, scope.at(place))


def _check_context_field(scope: StepScope, leaf: ContextField, place: NodePath) -> None:
    """Check that the path is declared, and that its declared form can have it."""
    path = parse_path(leaf.context_field)
    check_read(scope, path, scope.at(place), place)
    declared = scope.outputs.declared(("context", *path))
    if declared is not None:
        check_field(scope, declared, place, scope.at(place))


def _check_operator_value(scope: StepScope, leaf: TaskField | ContextField, path: NodePath) -> None:
    place = (*path, "value")
    if any(p.code.startswith(("E1", "E401")) for p in scope.problems.below(path)):
        return  # already reported: the missing field may be misspelled
    if "value" not in leaf.model_fields_set and leaf.operator not in WITHOUT_VALUE:
        mark = scope.tree.find(path).at
        scope.problems.note("E102", mark, place, value_missing(leaf.operator, WITHOUT_VALUE))
        return
    if isinstance(leaf.value, str) and _TEMPLATE.search(leaf.value):
        scope.note_value("E402", place, template_as_value(leaf.value))
        return
    wrong = wrong_value(leaf.operator, leaf.value)
    if wrong is not None:
        scope.note_value("E402", place, value_of_operator(leaf.operator, wrong, leaf.value))
    elif leaf.operator == "matches" and isinstance(leaf.value, str):
        try:
            pattern(leaf.value)
        except ValueError as error:
            scope.note_value("E403", place, broken_pattern(leaf.value, str(error)))
