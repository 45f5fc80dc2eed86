"""The step that ends its list with a failure."""

from typing import ClassVar, Literal

from coterie.dsl.model.step_kinds.step_base import StepBase


class FailStep(StepBase):
    """Ends this plan, or this team's tasks, with a named failure."""

    filled: ClassVar = ("message",)
    fails_itself: ClassVar = True
    ends_list: ClassVar = True
    asks_about_failure: ClassVar = False
    without_effect: ClassVar = ("timeout", "retry")
    shown: ClassVar = ("message",)

    kind: Literal["fail"]
    error: str = "Failed"
    message: str
    """A template."""
