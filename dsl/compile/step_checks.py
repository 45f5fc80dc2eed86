"""The check of all steps of a team or plan."""

from coterie.dsl.checks.steps.attempt_checks import check_attempts
from coterie.dsl.checks.steps.bound_checks import check_bounds
from coterie.dsl.checks.steps.condition_checks import check_condition
from coterie.dsl.checks.steps.context_update_checks import check_updates
from coterie.dsl.checks.steps.name_checks import check_names
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.checks.steps.template_checks import OwnResult, check_value
from coterie.dsl.kinds import kind_of
from coterie.dsl.model.traversal.step_walk import conditions, templated


def check_steps(scope: StepScope) -> None:
    """Check every step of the scope."""
    steps_with_paths, variables = scope.steps_with_paths, scope.variables
    check_names(scope, steps_with_paths, variables)
    for step, path in steps_with_paths:
        for condition, inner_path in conditions(step, path):
            check_condition(scope, condition, inner_path, OwnResult.of_condition(step, inner_path))
        for value in templated(step, path):
            check_value(scope, value.value, value.path, OwnResult.of_score(step, value.path))
        own = OwnResult(step.name)
        check_updates(scope, step.context_updates, (*path, "context_updates"), own)
        check_bounds(scope, step, path)
        check_attempts(scope, step, path)
        kind_of(step).check(scope, step, path)
