"""New values of variables."""

from collections.abc import Iterable

from typing_extensions import override

from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import SetStep
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.problem_texts import called
from coterie.dsl.values import NodePath


@rule("W510")
def step_does_nothing(step: str) -> ProblemText:
    return ProblemText(
        f"{called(step, 'the step')} does nothing",
        fix="write what it does, like `skill:` or `values:`, or remove it",
    )


class SetKind(Kind[SetStep]):
    """New values of variables."""

    sign = "M3.5 6h9M3.5 10h9"
    beginning = ""

    @override
    def check(self, scope: StepScope, step: SetStep, path: NodePath) -> None:
        if not step.values and not step.context_updates:
            scope.report(step_does_nothing(step.name), path)

    @override
    def details(self, step: SetStep, plan: Plan, words: StepWords) -> Iterable[str]:
        return (f"sets {', '.join(step.values)}",) if step.values else ()
