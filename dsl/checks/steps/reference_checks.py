"""Checks of the steps of one team or plan: names, references, conditions and templates."""

from dsl.checks.steps.condition_names import check_condition
from dsl.checks.steps.context_update_checks import check_updates
from dsl.checks.steps.name_checks import check_names
from dsl.checks.steps.step_checks import check_kind
from dsl.checks.steps.step_scope import StepScope
from dsl.checks.steps.template_checks import OwnResult, check_value
from dsl.model.facts import OWN_DATA
from dsl.model.steps import ParallelStep, Step
from dsl.model.traversal.step_walk import asks_after, conditions, templated
from dsl.values import NodePath


def check_steps(scope: StepScope) -> None:
    """Check every step of the scope."""
    check_names(scope)
    for step, path in scope.walked:
        for condition, place in conditions(step, path):
            check_condition(scope, condition, place, _read_by_condition(step, place))
        for value in templated(step, path):
            check_value(scope, value.value, value.path, _read_by_score(step, value.path))
        own = OwnResult(step.name)
        check_updates(scope, step.context_updates, (*path, "context_updates"), own)
        check_kind(scope, step, path)


def _read_by_condition(step: Step, path: NodePath) -> OwnResult | None:
    """Return what a condition of the step reads of the step's own result."""
    if path[-1] == "fail_when":
        return OwnResult(step.name)
    return OwnResult(step.name, OWN_DATA) if asks_after(step, path) else None


def _read_by_score(step: Step, path: NodePath) -> OwnResult | None:
    """Return what the score of a branch reads: the result of the last step of the branch."""
    if not isinstance(step, ParallelStep) or path[-1] != "score":
        return None
    steps = step.branch(str(path[-2])).steps
    return OwnResult(steps[-1].name) if steps else None
