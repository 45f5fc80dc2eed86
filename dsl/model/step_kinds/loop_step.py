"""The step that repeats its body."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field, JsonValue
from typing_extensions import override

from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.step_kinds.step_base import (
    COMMON_BOUNDS,
    CONCURRENCY,
    ITERATIONS,
    SetVariable,
    StepBase,
)
from coterie.dsl.model.step_kinds.step_list import EachRound, StepList
from coterie.dsl.model.template_bound import Bound, ConcurrencyBound
from coterie.dsl.values import NodePath

if TYPE_CHECKING:  # `steps` adds it when all kinds are known
    from coterie.dsl.model.steps import Step


class LoopStep(StepBase):
    """Repeats its body over a list, or while or until a condition holds."""

    filled: ClassVar = ("iterate_on",)
    bounds: ClassVar = (*COMMON_BOUNDS, ITERATIONS, CONCURRENCY)
    fails_itself: ClassVar = False

    kind: Literal["loop"]
    iterate_on: JsonValue = None
    """A list, or a template for one."""
    while_: Condition | None = Field(default=None, alias="while")
    """A condition, evaluated before each round."""
    until: Condition | None = None
    """A condition, evaluated after each round."""
    loop_variable: str | None = None
    """The name of the current item in the body."""
    max_iterations: Bound | None = None
    """Maximum rounds; required with `while` and `until`. A number, `{value: template, maximum}`,
    or a context path with a maximum."""
    break_when: Condition | None = None
    """Ends the loop after the round in which this holds."""
    concurrency: ConcurrencyBound = 1
    """The number of concurrent rounds of a list; each then has its own variables."""
    repeated_calls: Literal["stop", "allow"] | None = None
    """Repeated calls with the same arguments and the same result: `stop` fails the fifth one;
    `allow` accepts them."""
    body: tuple["Step", ...] = Field(min_length=1)

    @property
    def is_concurrent(self) -> bool:
        """Whether each round has its own variables; also where a template decides how many."""
        return self.iterate_on is not None and self.concurrency != 1

    @property
    @override
    def has_own_rounds(self) -> bool:
        return self.is_concurrent

    @override
    def lists(self, path: NodePath = ()) -> Iterator[StepList]:
        yield StepList(self.body, (*path, "body"), EachRound())

    @override
    def with_lists(self, lists: Iterator[tuple["Step", ...]]) -> Self:
        return self.model_copy(update={"body": next(lists)})

    @override
    def own_conditions(self) -> Iterator[tuple[Condition, NodePath]]:
        asked = (("while", self.while_), ("until", self.until), ("break_when", self.break_when))
        for key, condition in asked:
            if condition is not None:
                yield condition, (key,)

    @override
    def variables(self) -> Iterator[SetVariable]:
        yield from super().variables()
        if self.loop_variable is not None:
            yield SetVariable(self.loop_variable, ("loop_variable",), "within", self.iterate_on)
