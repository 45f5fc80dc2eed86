"""The step that handles failures."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import Field
from typing_extensions import override

from coterie.dsl.model.step_kinds.step_base import SetVariable, StepBase
from coterie.dsl.model.step_kinds.step_list import AtTheEnd, OnError, StepList, Tried
from coterie.dsl.values import Frozen, NodePath

if TYPE_CHECKING:  # `steps` adds it when all kinds are known
    from coterie.dsl.model.steps import Step


class Catch(Frozen):
    """Handles some failures."""

    error: str | tuple[str, ...] = "*"
    """Types of failure; `*` is any."""
    steps: tuple["Step", ...] = ()
    """They see the failure as `error`: type, message, step."""

    @property
    def errors(self) -> tuple[str, ...]:
        """The types of failure that it names."""
        return (self.error,) if isinstance(self.error, str) else self.error

    @property
    def takes_all(self) -> bool:
        """Whether it takes every failure."""
        return "*" in self.errors


class TryStep(StepBase):
    """Runs steps and handles their failures."""

    implied_by: ClassVar = ("catch", "finally")
    filled: ClassVar = ()
    fails_itself: ClassVar = False

    kind: Literal["try"]
    steps: tuple["Step", ...] = Field(min_length=1)
    catch: tuple[Catch, ...] = ()
    finally_: tuple["Step", ...] = Field(default=(), alias="finally")
    """Steps that always run, even when the run is cancelled."""

    @override
    def lists(self, path: NodePath = ()) -> Iterator[StepList]:
        yield StepList(self.steps, (*path, "steps"), Tried())
        for index, clause in enumerate(self.catch):
            key_path = (*path, "catch", index, "steps")
            yield StepList(clause.steps, key_path, OnError(clause.errors))
        yield StepList(self.finally_, (*path, "finally"), AtTheEnd())

    @override
    def certain_lists(self, path: NodePath = ()) -> Iterable[StepList]:
        tried, *_, last = self.lists(path)
        return (last,) if self.catch else (tried, last)

    @override
    def with_lists(self, lists: Iterator[tuple["Step", ...]]) -> Self:
        tried = next(lists)
        clauses = tuple(clause.model_copy(update={"steps": next(lists)}) for clause in self.catch)
        update = {"steps": tried, "catch": clauses, "finally_": next(lists)}
        return self.model_copy(update=update)

    @override
    def variables(self) -> Iterator[SetVariable]:
        yield from super().variables()
        if self.catch:
            yield SetVariable("error", ("catch",), "provided")
