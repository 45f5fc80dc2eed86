"""What the language asks a kind of step besides its structure, which its class has.

A pass asks `kind_of(step)`, and names no kind.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Generic, Protocol, TypeVar

from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.model.conditions import Condition
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.step_base import StepBase
from coterie.dsl.model.template_bound import TemplateBound, TemplateDuration
from coterie.dsl.values import Json, NodePath

StepT = TypeVar("StepT", bound=StepBase)


class StepWords(Protocol):
    """How to word the parts of a step."""

    def condition(self, condition: Condition, /) -> str:
        """Word a condition."""
        ...

    def value(self, value: object, /) -> str:
        """Word a value, or the template for one."""
        ...

    def agent_class(self, path: str, /) -> str:
        """Word the import path of a legacy class."""
        ...

    def text(self, written: str) -> str:
        """Word a text that may be a template."""
        ...

    def counted(self, count: int, word: str, plural: str | None = None) -> str:
        """Word a number of things."""
        ...

    def counted_bound(
        self, bound: int | TemplateBound | str, word: str, plural: str | None = None
    ) -> str:
        """Word the bound of a number of things."""
        ...

    def number_bound(self, bound: int | TemplateBound | str) -> str:
        """Word a bound without what it counts."""
        ...

    def duration(self, seconds: float) -> str:
        """Word a duration."""
        ...

    def duration_bound(self, bound: float | TemplateDuration | str) -> str:
        """Word the bound of a duration."""
        ...


class Kind(ABC, Generic[StepT]):
    """One kind of step: its rules, and its words."""

    sign: ClassVar[str]
    """Its icon, 16 by 16, as an SVG path."""
    beginning: ClassVar[str]
    """The first word of its line in lists."""
    limits: ClassVar[Mapping[str, str]] = {}
    """`{key: what it limits}`."""
    key_rules: ClassVar[Sequence[Json]] = ()
    """Rules between its keys, as JSON Schema; `check` reports the same in words."""
    written_keys: ClassVar[Json] = {}
    """The keys that are written differently from the model, as JSON Schema."""

    def check(self, scope: StepScope, step: StepT, path: NodePath) -> None:
        """Note what is wrong with a step, besides its conditions, templates and bounds."""

    def rules_of(self, model: type[StepBase]) -> Sequence[Json]:
        """Return the rules between the keys of one of its classes."""
        return self.key_rules

    @abstractmethod
    def details(self, step: StepT, plan: Plan, words: StepWords) -> Iterable[str]:
        """Return who does it and its limits, most important first."""
