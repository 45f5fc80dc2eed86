"""The end of a list of steps, with a value."""

from collections.abc import Iterable

from typing_extensions import override

from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import ReturnStep


class ReturnKind(Kind[ReturnStep]):
    """The end of a list of steps, with a value."""

    sign = "M12.5 3.5v5.5H4M7 6L4 9l3 3"
    beginning = "return "

    @override
    def details(self, step: ReturnStep, plan: Plan, words: StepWords) -> Iterable[str]:
        return (words.value(step.value),)
