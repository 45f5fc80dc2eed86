"""The step that groups others."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field
from typing_extensions import override

from coterie.dsl.model.step_kinds.step_base import StepBase
from coterie.dsl.model.step_kinds.step_list import Grouped, StepList
from coterie.dsl.values import NodePath

if TYPE_CHECKING:  # `steps` adds it when all kinds are known
    from coterie.dsl.model.steps import Step


class BlockStep(StepBase):
    """Runs a group of steps under one `when`, `timeout`, `retry` and `on_failure`."""

    implied_by: ClassVar = ("steps",)
    filled: ClassVar = ()
    fails_itself: ClassVar = False

    kind: Literal["block"]
    steps: tuple["Step", ...] = Field(min_length=1)

    @override
    def lists(self, path: NodePath = ()) -> Iterator[StepList]:
        yield StepList(self.steps, (*path, "steps"), Grouped())

    @override
    def certain_lists(self, path: NodePath = ()) -> Iterator[StepList]:
        return self.lists(path)

    @property
    @override
    def lets_time_pass(self) -> bool:
        return any(step.lets_time_pass for step in self.steps)

    @override
    def with_lists(self, lists: Iterator[tuple["Step", ...]]) -> Self:
        return self.model_copy(update={"steps": next(lists)})
