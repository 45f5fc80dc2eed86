"""The steps that wait: for a duration, a time, a signal or a message."""

from typing import ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from coterie.dsl.model.step_kinds.step_base import COMMON_BOUNDS, StepBase
from coterie.dsl.model.template_bound import BoundKey, DeadlineBound
from coterie.dsl.values import MAX_DURATION, Json, closed_mapping

WhileBusy = Literal["queue", "steer"]
"""What happens to a message that comes while the run works on another one."""

WAIT_KEYS = ("duration", "time", "signal", "message")
"""The keys that say what a step waits for: each has a class of its own."""
_BOUNDS = (*COMMON_BOUNDS, BoundKey(("deadline",), "deadline", MAX_DURATION))


class WaitStep(StepBase):
    """Waits for one thing."""

    implied_by: ClassVar = ("duration", "signal")
    filled: ClassVar[tuple[str, ...]] = ()
    fails_itself: ClassVar = True

    kind: Literal["wait"]

    @property
    @override
    def retry_causes(self) -> tuple[str, ...]:
        causes = ("deadline", "timeout", "fail_when")
        return tuple(key for key in causes if key in type(self).model_fields)

    @property
    @override
    def unlimited_without(self) -> str | None:
        return "deadline" if "deadline" in type(self).model_fields else None

    @property
    @override
    def lets_time_pass(self) -> bool:
        return True

    @property
    @override
    def data_form(self) -> Json | None:
        return closed_mapping({"until": {"type": "string"}})


class DurationWait(WaitStep):
    """Waits for a duration."""

    filled: ClassVar = ("duration",)

    duration: float | str
    """How long: seconds, `90s`, `2d`, or a template for one of these."""

    @property
    @override
    def can_fail_itself(self) -> bool:
        return False


class TimeWait(WaitStep):
    """Waits until a time."""

    filled: ClassVar = ("time",)

    time: str
    """A time like `2026-01-31T09:00+02:00`, in UTC without an offset; or a template for one."""


class SignalWait(WaitStep):
    """Waits for a named signal."""

    bounds: ClassVar = _BOUNDS

    signal: str
    """The name of a signal; its payload is the step's data."""
    deadline: DeadlineBound | None = None
    """How long to wait for the signal; then the step fails. A duration, `{value: template,
    maximum}`, or a context path with a maximum."""

    @property
    @override
    def can_fail_itself(self) -> bool:
        return self.deadline is not None

    @property
    @override
    def data_form(self) -> None:
        return None

    @property
    @override
    def awaited_signal(self) -> str:
        return self.signal


class MessageWait(WaitStep):
    """Waits for the next message of a session."""

    bounds: ClassVar = _BOUNDS

    deadline: DeadlineBound | None = None
    """How long to wait for the message; then the step fails. A duration, `{value: template,
    maximum}`, or a context path with a maximum."""
    message: Literal[True]
    """`true`: waits for the next message of the session; its value is the step's data."""
    schema_: Json | None = Field(default=None, alias="schema")
    """JSON Schema of the message; a message that does not match is refused."""
    while_busy: WhileBusy = "queue"
    """What happens to a message that comes while the run works on this one: it waits for its turn,
    or the agent at work reads it at its next turn, and both get the same reply."""

    @property
    @override
    def data_form(self) -> Json | None:
        return self.schema_

    @property
    @override
    def takes_message(self) -> bool:
        return True


AnyWait = DurationWait | TimeWait | SignalWait | MessageWait
