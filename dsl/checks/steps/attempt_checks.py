"""Checks of the keys about a step's attempts and its result, where its kind has none."""

from coterie.dsl.checks.steps.once_checks import check_retry_of_once
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.model.retryability import can_pass
from coterie.dsl.model.steps import Step
from coterie.dsl.values import NodePath
from coterie.dsl.wording.steps.attempt_wording import (
    never_applied,
    never_retried,
    no_attempt,
    no_result,
    retry_in_vain,
)


def check_attempts(scope: StepScope, step: Step, path: NodePath) -> None:
    """Note keys for results and attempts that do nothing, and failures that no attempt changes."""
    if step.ends_list:
        _result(scope, step, path)
    for key in step.without_effect:
        if getattr(step, key) is not None:
            scope.report(no_attempt(key, step.name, step.kind), (*path, key))
    causes = step.retry_causes
    if step.retry is not None and causes and all(getattr(step, key) is None for key in causes):
        scope.report(never_retried(step.name, step.kind, causes), (*path, "retry"))
    check_retry_of_once(scope, step, path)
    for index, error in enumerate(step.retry.errors if step.retry is not None else ()):
        if not can_pass(error, data_can_differ=step.contains_calls):
            key_path = (*path, "retry", "errors", index)
            scope.report(retry_in_vain(step.name, error), key_path)


def _result(scope: StepScope, step: Step, path: NodePath) -> None:
    """Note the keys that apply to a result: these steps end their list without one."""
    if step.fail_when is not None:
        scope.report(no_result(step.name, step.kind), (*path, "fail_when"))
    for key, value in (
        ("context_updates", step.context_updates),
        ("output_variable", step.output_variable),
    ):
        if value:
            scope.report(never_applied(key, step.name, step.kind), (*path, key))
