"""A call of a tool function."""

from collections.abc import Iterable

from typing_extensions import override

from coterie.dsl.checks.contracts.command_checks import check_command
from coterie.dsl.checks.contracts.contract_checks import check_input
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.checks.tools.section_checks import call_too_long
from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.capabilities import FunctionContract
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import FunctionStep, ToolStep
from coterie.dsl.values import MAX_CALL_SECONDS, NodePath


class FunctionKind(Kind[FunctionStep]):
    """A call of a tool function."""

    sign = "M9 2L3.5 9H8l-1 5 5.5-7H8z"
    beginning = "tool function "

    @override
    def check(self, scope: StepScope, step: FunctionStep, path: NodePath) -> None:
        functions = scope.capabilities.functions
        if step.skill not in functions:
            scope.unknown("tool function", step.skill, functions, (*path, "skill"))
        check_command(
            scope.capabilities, scope.problems, scope.tree, step.skill, step.input, (*path, "input")
        )
        contract = functions.get(step.skill)
        if contract is not None:
            check_time(scope, step, step.skill, contract, path)
            check_input(scope.tree, scope.problems, contract, step.input, (*path, "input"))

    @override
    def details(self, step: FunctionStep, plan: Plan, words: StepWords) -> Iterable[str]:
        function, terms = step.skill, step.terms
        return (function if terms is None else f"{function} ({terms.effect})",)


def check_time(
    scope: StepScope,
    step: FunctionStep | ToolStep,
    name: str,
    contract: FunctionContract,
    path: NodePath,
) -> None:
    """Check that a call which may take long continues without its worker."""
    seconds = step.timeout
    if not isinstance(seconds, int | float) or contract.continues_long:
        return
    if seconds > MAX_CALL_SECONDS:
        scope.report(call_too_long(name, seconds, MAX_CALL_SECONDS), (*path, "timeout"))
