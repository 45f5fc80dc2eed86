"""Steps that wait for a person, a time or a message, and the answer to a message."""

from typing import Literal

from pydantic import Field, JsonValue

from coterie.dsl.model.step_kinds.step_base import StepBase
from coterie.dsl.model.template_bound import DeadlineBound
from coterie.dsl.model.terms import ApprovalTerms
from coterie.dsl.values import Json


class ApprovalStep(StepBase, ApprovalTerms):
    """Waits for a person's decision, for any length of time."""

    kind: Literal["approval"]
    prompt: str
    """The question, as the person reads it; a template."""
    show: JsonValue = None
    """What the person needs to see to decide."""


class WaitStep(StepBase):
    """Waits for a duration, a time, a named signal, or the next message of a session."""

    kind: Literal["wait"]
    duration: float | str | None = None
    """How long: seconds, `90s`, `2d`, or a template for one of these."""
    time: str | None = None
    """A time like `2026-01-31T09:00+02:00`, in UTC without an offset; or a template for one."""
    signal: str | None = None
    """The name of a signal; its payload is the step's data."""
    deadline: DeadlineBound | None = None
    """How long to wait for the signal or the message; then the step fails. A duration, `{value:
    template, maximum}`, or a context path with a maximum."""
    message: Literal[True] | None = None
    """`true`: waits for the next message of the session; its value is the step's data."""
    schema_: Json | None = Field(default=None, alias="schema")
    """JSON Schema of the message; a message that does not match is refused."""


class ReplyStep(StepBase):
    """Answers the message that the run works on."""

    kind: Literal["reply"]
    value: JsonValue
    """The answer, or a template for it."""
