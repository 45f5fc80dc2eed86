"""Named branches that run at the same time."""

from collections.abc import Iterable

from typing_extensions import override

from coterie.dsl.checks.steps.parallel_checks import check_parallel
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import ParallelStep
from coterie.dsl.values import NodePath

_JOINED = {
    "all": "until all ended",
    "any": "until any succeeded",
    "fallback": "one after another until one succeeded",
    "best": "all run, the best wins",
}


class ParallelKind(Kind[ParallelStep]):
    """Named branches that run at the same time."""

    sign = "M5.5 3v10M10.5 3v10"
    beginning = "parallel, "

    @override
    def check(self, scope: StepScope, step: ParallelStep, path: NodePath) -> None:
        check_parallel(scope, step, path)

    @override
    def details(self, step: ParallelStep, plan: Plan, words: StepWords) -> Iterable[str]:
        yield words.counted(len(step.branches), "branch", "branches")
        if step.only is not None:
            yield f"only {words.value(step.only)}"
        if isinstance(step.join, str):
            yield _JOINED.get(step.join) or f"joined as {words.value(step.join)}"
        else:
            yield f"until {step.join} succeeded"
