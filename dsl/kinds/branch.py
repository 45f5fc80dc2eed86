"""A choice of one branch by conditions."""

from collections.abc import Iterable

from typing_extensions import override

from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import BranchStep


class BranchKind(Kind[BranchStep]):
    """A choice of one branch by conditions."""

    sign = "M8 14V9L3.5 4.5M8 9l4.5-4.5M3 7.5V4h3.5M13 7.5V4H9.5"
    beginning = "branch "

    @override
    def details(self, step: BranchStep, plan: Plan, words: StepWords) -> Iterable[str]:
        return ()
