"""The step that repeats its body."""

from collections.abc import Iterable, Iterator
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
from coterie.dsl.values import Json, NodePath, closed_mapping

if TYPE_CHECKING:  # `steps` adds it when all kinds are known
    from coterie.dsl.model.steps import Step

_COUNT: Json = {"type": "integer", "minimum": 0}
_DATA = closed_mapping(
    {
        "rounds": _COUNT,
        "results": {"type": "array"},
        "completed": {"type": "boolean"},
        "dropped": {"type": "integer", "minimum": 1},
    },
    "dropped",
)


class LoopStep(StepBase):
    """Repeats its body over a list, or while or until a condition holds."""

    implied_by: ClassVar = ("iterate_on", "while", "until", "body")
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
    def unlimited_without(self) -> str:
        return "max_iterations"

    @property
    @override
    def lacks_bound(self) -> str | None:
        unbounded = self.iterate_on is None and self.max_iterations is None
        return "max_iterations" if unbounded else None

    @property
    @override
    def has_own_rounds(self) -> bool:
        return self.is_concurrent

    @override
    def lists(self, path: NodePath = ()) -> Iterator[StepList]:
        role = EachRound(
            self.iterate_on,
            self.while_ is not None,
            self.loop_variable,
            self.max_iterations,
            self.concurrency,
        )
        yield StepList(self.body, (*path, "body"), role)

    @override
    def certain_lists(self, path: NodePath = ()) -> Iterable[StepList]:
        certain = self.while_ is None and (self.iterate_on is None or _is_filled(self.iterate_on))
        return self.lists(path) if certain else ()

    @property
    @override
    def can_fail_itself(self) -> bool:
        return not isinstance(self.iterate_on, list | None)

    @property
    @override
    def data_form(self) -> Json:
        return _DATA

    @override
    def resolved(self) -> Self:
        """Return the loop with its policy for repeated calls.

        A loop that waits between its rounds polls, so its calls may repeat. A loop over a list ends
        by itself, so its calls count for the loop around it, if there is one.
        """
        if self.repeated_calls is not None:
            return self
        over_a_list = self.iterate_on is not None and self.break_when is None
        policy = None if over_a_list else "stop"
        if any(step.lets_time_pass for step in self.body):
            policy = "allow"
        return self.model_copy(update={"repeated_calls": policy})

    @override
    def with_lists(self, lists: Iterator[tuple["Step", ...]]) -> Self:
        return self.model_copy(update={"body": next(lists)})

    @override
    def own_conditions(self) -> Iterator[tuple[Condition, NodePath]]:
        conditions = (
            ("while", self.while_),
            ("until", self.until),
            ("break_when", self.break_when),
        )
        for key, condition in conditions:
            if condition is not None:
                yield condition, (key,)

    @override
    def variables(self) -> Iterator[SetVariable]:
        yield from super().variables()
        if self.loop_variable is not None:
            yield SetVariable(self.loop_variable, ("loop_variable",), "within", self.iterate_on)


def _is_filled(over: JsonValue) -> bool:
    return isinstance(over, list) and bool(over)
