"""The step that waits for a time, a signal or a message."""

from typing import ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from coterie.dsl.model.step_kinds.step_base import COMMON_BOUNDS, StepBase
from coterie.dsl.model.template_bound import BoundKey, DeadlineBound
from coterie.dsl.values import MAX_DURATION, Json, closed_mapping


class WaitStep(StepBase):
    """Waits for a duration, a time, a named signal, or the next message of a session."""

    filled: ClassVar = ("duration", "time")
    bounds: ClassVar = (*COMMON_BOUNDS, BoundKey(("deadline",), "deadline", MAX_DURATION))
    fails_itself: ClassVar = True

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

    @property
    @override
    def can_fail_itself(self) -> bool:
        if self.signal is not None:
            return self.deadline is not None
        return self.duration is None  # a message may never come

    @property
    @override
    def retry_causes(self) -> tuple[str, ...]:
        can_expire = self.signal is not None or self.message is not None
        return (*(("deadline",) if can_expire else ()), "timeout", "fail_when")

    @property
    @override
    def lets_time_pass(self) -> bool:
        return True

    @property
    @override
    def data_form(self) -> Json | None:
        if self.message is not None:
            return self.schema_
        return closed_mapping({"until": {"type": "string"}}) if self.signal is None else None

    @property
    @override
    def awaited_signal(self) -> str | None:
        return self.signal

    @property
    @override
    def takes_message(self) -> bool:
        return self.message is not None
