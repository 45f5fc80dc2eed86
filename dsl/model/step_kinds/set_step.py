"""The step that sets variables."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field, JsonValue
from typing_extensions import override

from coterie.dsl.model.step_kinds.step_base import SetVariable, StepBase
from coterie.dsl.values import Json


class SetStep(StepBase):
    """Sets variables of this team visit or plan from templates."""

    implied_by: ClassVar = ("values",)
    filled: ClassVar = ("values",)
    fails_itself: ClassVar = False
    without_effect: ClassVar = ("timeout",)

    kind: Literal["set"]
    values: Json = Field(default_factory=dict[str, JsonValue])

    @property
    @override
    def retry_causes(self) -> tuple[str, ...]:
        return ("fail_when",)

    @override
    def variables(self) -> Iterator[SetVariable]:
        yield from super().variables()
        for name in self.values:
            yield SetVariable(name, ("values", name), "after")
