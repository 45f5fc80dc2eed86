"""A group of steps."""

from collections.abc import Iterable

from typing_extensions import override

from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import BlockStep


class BlockKind(Kind[BlockStep]):
    """A group of steps."""

    sign = "M3 3h10v10H3zM5.5 6h5M5.5 8h5M5.5 10h3"
    beginning = "block "

    @override
    def details(self, step: BlockStep, plan: Plan, words: StepWords) -> Iterable[str]:
        return ()
