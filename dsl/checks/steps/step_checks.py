"""Checks that belong to one kind of step."""

from typing import assert_never

from coterie.dsl.checks.steps.attempt_checks import check_attempts
from coterie.dsl.checks.steps.bound_checks import check_bounds
from coterie.dsl.checks.steps.condition_checks import check_condition
from coterie.dsl.checks.steps.context_paths import check_team_input
from coterie.dsl.checks.steps.context_update_checks import check_updates
from coterie.dsl.checks.steps.loop_checks import check_list, check_loop
from coterie.dsl.checks.steps.name_checks import check_names
from coterie.dsl.checks.steps.parallel_checks import check_parallel
from coterie.dsl.checks.steps.several_calls_checks import check_calls
from coterie.dsl.checks.steps.step_call_checks import check_agent, check_skill, check_tool
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.checks.steps.task_graph_checks import check_task_graph
from coterie.dsl.checks.steps.template_checks import OwnResult, check_value
from coterie.dsl.checks.steps.wait_checks import check_wait
from coterie.dsl.model.step_kinds.wait_step import WaitStep
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
)
from coterie.dsl.model.traversal.step_walk import conditions, templated
from coterie.dsl.values import NodePath
from coterie.dsl.wording.approval_wording import no_deadline
from coterie.dsl.wording.step_names import called
from coterie.dsl.wording.steps.step_wording import catches_nothing, empty_clause, step_does_nothing


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
        _check_kind(scope, step, path)


def _check_kind(scope: StepScope, step: Step, path: NodePath) -> None:
    """Check what is specific to this kind of step, and the keys that any step may have."""
    check_attempts(scope, step, path)
    match step:
        case AgentStep():
            check_agent(scope, step, path)
        case SkillStep():
            check_skill(scope, step, path)
        case ToolStep():
            check_tool(scope, step, path)
        case TeamStep():
            _team(scope, step, path)
        case WaitStep():
            check_wait(scope, step, path)
        case ApprovalStep():
            _approval(scope, step, path)
        case SetStep():
            _set(scope, step, path)
        case ReplyStep() | ReturnStep() | FailStep():
            pass  # their templates are checked as those of any step
        case _:
            _check_holder(scope, step, path)


Holder = LoopStep | TaskGraphStep | TryStep | ParallelStep | BranchStep | BlockStep


def _check_holder(scope: StepScope, step: Holder, path: NodePath) -> None:
    """Check what is specific to a kind that holds other steps."""
    match step:
        case LoopStep():
            check_loop(scope, step, path)
            check_calls(scope, step, path)
        case TaskGraphStep():
            check_list(scope, step.tasks, (*path, "tasks"), "tasks")
            check_task_graph(scope, step, path)
        case TryStep():
            _catches(scope, step, path)
        case ParallelStep():
            check_parallel(scope, step, path)
        case BranchStep() | BlockStep():
            pass  # their conditions and steps are checked as those of any step
        case _:
            assert_never(step)


def _approval(scope: StepScope, step: ApprovalStep, path: NodePath) -> None:
    if step.deadline is None and not scope.has_problem((*path, "deadline")):
        scope.report(no_deadline(called(step.name, "the approval")), path)


def _set(scope: StepScope, step: SetStep, path: NodePath) -> None:
    if not step.values and not step.context_updates:
        scope.report(step_does_nothing(step.name), path)


def _team(scope: StepScope, step: TeamStep, path: NodePath) -> None:
    if step.team not in scope.teams:
        scope.unknown("team", step.team, scope.teams, (*path, "team"))
    check_team_input(scope, step.input or {}, (*path, "input"))


def _catches(scope: StepScope, step: TryStep, path: NodePath) -> None:
    if not step.catch and not step.finally_:
        scope.report(catches_nothing(step.name), path)
    for index, clause in enumerate(step.catch):
        if not clause.error:
            key_path = (*path, "catch", index, "error")
            scope.report_value(empty_clause(), key_path)
