"""The step that answers a message."""

from typing import ClassVar, Literal

from pydantic import JsonValue

from coterie.dsl.model.step_kinds.step_base import StepBase


class ReplyStep(StepBase):
    """Answers the message that the run works on."""

    filled: ClassVar = ("value",)
    fails_itself: ClassVar = True
    without_effect: ClassVar = ("timeout", "retry")
    shown: ClassVar = ("value",)

    kind: Literal["reply"]
    value: JsonValue
    """The answer, or a template for it."""
