"""The schedule of a trigger as Temporal holds it."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final, NamedTuple

from temporalio.client import (
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleCalendarSpec,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleRange,
    ScheduleSpec,
    ScheduleState,
)

from coterie.dsl.json_values import json_digest
from coterie.dsl.model.sections.schedule_trigger import Overlap, ScheduleSection
from coterie.dsl.reserved_ids import SCHEDULE_PREFIX
from coterie.dsl.schedules.calendars import Calendar, Part, every
from coterie.dsl.schedules.schedule_calendars import calendars_of, skipped_calendars
from coterie.dsl.values import Frozen
from coterie.server.message_senders import current_sender
from coterie.storage.histories import WORKFLOW
from coterie.storage.wire import data_converter
from coterie.workflows.core.memo_keys import STARTED, TRIGGER
from coterie.workflows.core.messages import TeamInput
from coterie.workflows.core.senders import SENDER

OWNER: Final = "coterie_owner"
"""In the memo of a schedule, for its whole life: what made it."""
DECLARED: Final = "coterie_declared"
"""In the memo of its action: what the file says, so that a look tells whether it has changed."""

_OVERLAPS: dict[Overlap, ScheduleOverlapPolicy] = {
    "skip": ScheduleOverlapPolicy.SKIP,
    "buffer_one": ScheduleOverlapPolicy.BUFFER_ONE,
    "buffer_all": ScheduleOverlapPolicy.BUFFER_ALL,
    "cancel_other": ScheduleOverlapPolicy.CANCEL_OTHER,
    "terminate_other": ScheduleOverlapPolicy.TERMINATE_OTHER,
    "allow_all": ScheduleOverlapPolicy.ALLOW_ALL,
}


class DeclarationMark(Frozen):
    """What a schedule on the server was made of."""

    digest: str
    paused: bool = False
    """As the file has it; who pauses or resumes on the server makes the difference."""


class DeclaredSchedule(NamedTuple):
    """A schedule of a team's document."""

    task_queue: str
    team: str
    name: str
    section: ScheduleSection

    @property
    def id(self) -> str:
        """Its id on the server, with which the ids of its runs begin."""
        return schedule_id(self.task_queue, self.team, self.name)

    @property
    def declared(self) -> DeclarationMark:
        """What its memo on the server says of it."""
        written = self.section.model_dump(mode="json", exclude={"paused"})
        digest = json_digest(self.task_queue, self.team, self.name, written)
        return DeclarationMark(digest=digest, paused=self.section.paused)

    def as_schedule(self, state: ScheduleState) -> Schedule:
        """Return it for the server, in this state."""
        section = self.section
        overlap = _OVERLAPS[section.overlap]
        policy = SchedulePolicy(
            overlap=overlap,
            catchup_window=timedelta(seconds=section.catch_up),
            pause_on_failure=section.pause_on_failure,
        )
        return Schedule(action=self._action(), spec=spec_of(section), policy=policy, state=state)

    def _action(self) -> ScheduleActionStartWorkflow:
        action = ScheduleActionStartWorkflow(
            WORKFLOW,
            TeamInput(team=self.team, context=self.section.context),
            id=self.id,
            task_queue=self.task_queue,
            memo={STARTED: self.team, TRIGGER: self.name, DECLARED: self.declared},
            static_summary=self.team,
        )
        sender = current_sender().model_copy(update={"door": "schedule"})
        action.headers = {SENDER: data_converter.payload_converter.to_payload(sender)}
        return action


def schedule_id(task_queue: str, team: str, name: str) -> str:
    """Return the id of the schedule of a trigger."""
    return f"{SCHEDULE_PREFIX}{task_queue}/{team}/{name}"


def owner_of(task_queue: str, team: str) -> str:
    """Return what the memo of a schedule says of its owner."""
    return f"coterie deploy: {team} of {task_queue}"


def spec_of(section: ScheduleSection) -> ScheduleSpec:
    """Return when a schedule fires; as calendars, since the server rewrites cron."""
    intervals: list[ScheduleIntervalSpec] = []
    if section.every is not None:
        offset = None if section.offset is None else timedelta(seconds=section.offset)
        intervals.append(ScheduleIntervalSpec(timedelta(seconds=section.every), offset))
    return ScheduleSpec(
        calendars=[_calendar_spec(calendar) for calendar in calendars_of(section)],
        intervals=intervals,
        skip=[_calendar_spec(calendar) for calendar in skipped_calendars(section)],
        jitter=None if section.jitter is None else timedelta(seconds=section.jitter),
        time_zone_name=section.time_zone,
    )


def _calendar_spec(calendar: Calendar) -> ScheduleCalendarSpec:
    return ScheduleCalendarSpec(
        second=_ranges(calendar.second),
        minute=_ranges(calendar.minute),
        hour=_ranges(calendar.hour),
        day_of_month=_ranges(calendar.day_of_month),
        month=_ranges(calendar.month),
        year=_years(calendar.year),
        day_of_week=_ranges(calendar.day_of_week),
    )


def _years(years: tuple[int, ...]) -> Sequence[ScheduleRange]:
    part: Part = "year"
    return () if years == every(part) else _ranges(years)


def _ranges(values: tuple[int, ...]) -> Sequence[ScheduleRange]:
    """Return values as ranges, each with its end: without one, a range is its start alone."""
    spans: list[tuple[int, int]] = []
    for value in values:
        if spans and spans[-1][1] == value - 1:
            spans[-1] = (spans[-1][0], value)
        else:
            spans.append((value, value))
    return [ScheduleRange(first, last) for first, last in spans]
