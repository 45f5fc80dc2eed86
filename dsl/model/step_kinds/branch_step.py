"""The step that chooses one of several lists of steps by conditions."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field
from typing_extensions import override

from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.step_kinds.step_base import StepBase
from coterie.dsl.model.step_kinds.step_list import Otherwise, StepList, WhenHolds
from coterie.dsl.values import Frozen, Json, NodePath, closed_mapping

if TYPE_CHECKING:  # `steps` adds it when all kinds are known
    from coterie.dsl.model.steps import Step


class Branch(Frozen):
    """One branch of a branch step."""

    condition: Condition
    steps: tuple["Step", ...] = Field(min_length=1)


class BranchStep(StepBase):
    """Runs the first branch whose condition holds, or `otherwise`."""

    implied_by: ClassVar = ("branches",)
    filled: ClassVar = ()
    fails_itself: ClassVar = False

    kind: Literal["branch"]
    branches: tuple[Branch, ...] = Field(min_length=1)
    otherwise: tuple["Step", ...] = ()

    @override
    def lists(self, path: NodePath = ()) -> Iterator[StepList]:
        for index, branch in enumerate(self.branches):
            yield StepList(
                branch.steps, (*path, "branches", index, "steps"), WhenHolds(branch.condition)
            )
        yield StepList(self.otherwise, (*path, "otherwise"), Otherwise())

    @property
    @override
    def data_form(self) -> Json:
        return closed_mapping({"chosen": {"type": ["integer", "null"]}, "data": {}})

    @override
    def with_lists(self, lists: Iterator[tuple["Step", ...]]) -> Self:
        branches = tuple(
            branch.model_copy(update={"steps": next(lists)}) for branch in self.branches
        )
        return self.model_copy(update={"branches": branches, "otherwise": next(lists)})

    @override
    def own_conditions(self) -> Iterator[tuple[Condition, NodePath]]:
        for index, branch in enumerate(self.branches):
            yield branch.condition, ("branches", index, "condition")
