"""The end of a list of steps, with a failure."""

from collections.abc import Iterable

from typing_extensions import override

from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import FailStep


class FailKind(Kind[FailStep]):
    """The end of a list of steps, with a failure."""

    sign = "M4 4l8 8M12 4l-8 8"
    beginning = "fail with "

    @override
    def details(self, step: FailStep, plan: Plan, words: StepWords) -> Iterable[str]:
        return (step.error,)
