"""A schedule: the times at which runs start."""

from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, model_validator

from coterie.dsl.values import Frozen, Json, Seconds, Timeout, form_mismatch

Overlap = Literal[
    "skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other", "allow_all"
]
"""What becomes of a time while the run of an earlier one is open."""

MAX_TIMES = 20
"""Of the crons, and of the calendars, of one schedule."""
_CATCH_UP = 86_400.0
_MIN_CATCH_UP = 10.0

CalendarField = Annotated[int, Field(ge=0, le=2100)] | Annotated[str, Field(max_length=200)]
"""A number, or a text like `9-17/2`, `mon-fri`, `1,15`, `*`."""
Cron = Annotated[str, Field(min_length=1, max_length=200)]


class CalendarSection(Frozen):
    """Local times: all that match every part."""

    second: CalendarField | None = None
    """Default: 0."""
    minute: CalendarField | None = None
    """Default: 0."""
    hour: CalendarField | None = None
    """Default: 0."""
    day_of_month: CalendarField | None = None
    """Default: every day."""
    month: CalendarField | None = None
    """Default: every month; also `jan`."""
    year: CalendarField | None = None
    """Default: every year."""
    day_of_week: CalendarField | None = None
    """Default: every day; `mon-fri`, or 0 to 6 from Sunday."""


_Crons = Annotated[tuple[Cron, ...], Field(min_length=1, max_length=MAX_TIMES)]
_Calendars = Annotated[tuple[CalendarSection, ...], Field(min_length=1, max_length=MAX_TIMES)]


class ScheduleSection(Frozen):
    """When runs start, and with which context."""

    cron: Cron | _Crons | None = None
    """`minute hour day-of-month month day-of-week`; or several of them."""
    calendar: CalendarSection | _Calendars | None = None
    """Times by the names of their parts; or several of them."""
    every: Annotated[Timeout, Field(ge=1)] | None = None
    """An interval, counted from 1970-01-01T00:00Z: `6h` is 00:00, 06:00, 12:00 and 18:00 UTC."""
    offset: Seconds | None = None
    """With `every`: how much later; `every: 6h` with `offset: 90m` is 01:30, 07:30, ..."""
    skip: CalendarSection | _Calendars | None = None
    """Times that are left out; here a part that is not given means every one, also of the clock:
    `{month: 12, day_of_month: 25}` is the whole day."""
    time_zone: str = Field(default="UTC", min_length=1, max_length=100)
    """Of `cron`, `calendar` and `skip`, such as `Europe/Berlin`."""
    overlap: Overlap = "skip"
    """What becomes of a time while the run of an earlier one is open."""
    catch_up: Annotated[Seconds, Field(ge=_MIN_CATCH_UP)] = _CATCH_UP
    """How late a run may start after the server was away; what is older is lost. Default: 1d."""
    jitter: Seconds | None = Field(default=None, le=86_400.0)
    """Delays each run by up to this, always the same for one time."""
    paused: bool = False
    """Whether it is deployed as paused. Who pauses or resumes it later on the server is left
    alone."""
    pause_on_failure: bool = False
    """Pauses after a run that failed."""
    context: Json = Field(default_factory=dict[str, JsonValue])
    """The context with which the runs start."""

    @model_validator(mode="after")
    def _has_times(self) -> Self:
        if self.cron is None and self.calendar is None and self.every is None:
            raise form_mismatch("trigger", "a schedule has `cron`, `calendar` or `every`")
        if self.offset is not None and (self.every is None or self.offset >= self.every):
            raise form_mismatch("trigger", "`offset` stands beside `every`, and is shorter")
        return self

    @property
    def crons(self) -> tuple[str, ...]:
        """Its crons."""
        if self.cron is None:
            return ()
        return (self.cron,) if isinstance(self.cron, str) else self.cron

    @property
    def calendars(self) -> tuple[CalendarSection, ...]:
        """Its calendars."""
        return _sections(self.calendar)

    @property
    def skipped(self) -> tuple[CalendarSection, ...]:
        """The calendars of what it leaves out."""
        return _sections(self.skip)


def _sections(
    value: CalendarSection | tuple[CalendarSection, ...] | None,
) -> tuple[CalendarSection, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, CalendarSection) else value
