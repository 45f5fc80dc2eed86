"""Steps that only compute: they set variables, return a value, or fail."""

from typing import Literal

from pydantic import Field, JsonValue

from coterie.dsl.model.step_kinds.step_base import StepBase
from coterie.dsl.values import Json


class SetStep(StepBase):
    """Sets variables of this team visit or plan from templates."""

    kind: Literal["set"]
    values: Json = Field(default_factory=dict[str, JsonValue])


class ReturnStep(StepBase):
    """Ends this plan, or this team's tasks, with a value."""

    kind: Literal["return"]
    value: JsonValue = None


class FailStep(StepBase):
    """Ends this plan, or this team's tasks, with a named failure."""

    kind: Literal["fail"]
    error: str = "Failed"
    message: str
    """A template."""
