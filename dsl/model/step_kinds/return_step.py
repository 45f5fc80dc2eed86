"""The step that ends its list with a value."""

from typing import ClassVar, Literal

from pydantic import JsonValue

from coterie.dsl.model.step_kinds.step_base import StepBase


class ReturnStep(StepBase):
    """Ends this plan, or this team's tasks, with a value."""

    filled: ClassVar = ("value",)
    fails_itself: ClassVar = False
    without_effect: ClassVar = ("timeout", "retry")
    ends_list: ClassVar = True
    asks_about_failure: ClassVar = False

    kind: Literal["return"]
    value: JsonValue = None
