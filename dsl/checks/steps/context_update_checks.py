"""Checks of `context_updates`: their keys, their templates, and what operations are given."""

from pydantic import JsonValue

from coterie.dsl.checks.steps.context_paths import check_declared
from coterie.dsl.checks.steps.operation_names import misspelt_operation, takes
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.checks.steps.template_checks import OwnResult, check_template, check_value
from coterie.dsl.evaluate.context_writes import OPERATIONS, written_value
from coterie.dsl.json_values import describe_kind
from coterie.dsl.templates.path_templates import key_segments
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import Json, NodePath
from coterie.dsl.wording.update_wording import (
    empty_segment,
    misspelt,
    operand_mismatch,
    several_operations,
)


def check_updates(
    scope: StepScope, updates: Json, path: NodePath, own: OwnResult | None = None
) -> None:
    """Check the updates of a step, a rule or a team's routing."""
    for key, value in updates.items():
        key_path = (*path, key)
        check_value(scope, value, key_path, own)
        check_declared(scope, key, value, key_path)
        _key(scope, key, key_path, own)
        _operation(scope, key, value, key_path)


def _key(scope: StepScope, key: str, path: NodePath, own: OwnResult | None) -> None:
    segments = key_segments(key)
    for segment in segments:
        if is_template(segment):
            check_template(scope, segment, path, own)
    if not segments or not all(segments):
        scope.report(empty_segment(key), path)


def _operation(scope: StepScope, key: str, value: JsonValue, path: NodePath) -> None:
    if isinstance(value, dict) and len(value) > 1 and all(name in OPERATIONS for name in value):
        scope.report(several_operations(key, (*value,)), path)
    operation, operand = written_value(value)
    if operation is None:
        slip = misspelt_operation(value)
        if slip is not None and not scope.problems.has("E405", path):
            scope.report(misspelt(*slip, key), (*path, slip[0]))
        return
    if not takes(operation, operand):
        details = operand_mismatch(operation, key, describe_kind(operand))
        scope.report_value(details, (*path, operation))
