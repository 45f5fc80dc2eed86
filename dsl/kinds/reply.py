"""The answer to a message."""

from collections.abc import Iterable

from typing_extensions import override

from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import ReplyStep


class ReplyKind(Kind[ReplyStep]):
    """The answer to a message."""

    sign = "M7 3.5L2.5 8 7 12.5V9.5c3 0 5 .8 6.5 3-.3-3.5-2.3-6-6.5-6.3z"
    beginning = "reply "

    @override
    def details(self, step: ReplyStep, plan: Plan, words: StepWords) -> Iterable[str]:
        return (words.value(step.value),)
