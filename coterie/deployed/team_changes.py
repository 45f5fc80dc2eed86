"""What a deployment does to one team: its version, and its schedules."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from coterie.deployed.deployments import VersionChange, version_change
from coterie.deployed.proposals import Proposal
from coterie.deployed.registry import Registry
from coterie.deployed.schedule_changes import (
    Ownership,
    ScheduleChange,
    apply_schedule,
    schedule_changes,
)
from coterie.deployed.team_content import TeamContent, unpacked
from coterie.documents.schedule_text import next_times, times_in_words
from coterie.failures import CommandError
from coterie.text.moments import day_and_clock
from coterie.workflows.core.registry_messages import RegistryState, TeamRecord


class TeamChange(NamedTuple):
    """What a deployment does to one team."""

    version: VersionChange
    schedules: list[ScheduleChange]

    @property
    def team(self) -> str:
        """The team."""
        return self.version.team

    @property
    def changed_schedules(self) -> list[ScheduleChange]:
        """The schedules that it creates, replaces or deletes."""
        return [change for change in self.schedules if change.act != "unchanged"]

    @property
    def is_empty(self) -> bool:
        """Whether file and server are alike."""
        return not self.version.is_new and not self.changed_schedules


async def team_change(registry: Registry, state: RegistryState, proposal: Proposal) -> TeamChange:
    """Compare a document with the server.

    Raises:
        CommandError: A schedule of the same id is not ours.
    """
    owner = Ownership(registry.client, registry.task_queue, proposal.team)
    earlier = earlier_schedules(state, proposal.team)
    schedules = await schedule_changes(owner, proposal.content.schedules, earlier)
    return TeamChange(version_change(state, proposal), schedules)


def earlier_schedules(state: RegistryState, team: str) -> set[str]:
    """Return the names of the schedules of all kept versions of a team."""
    return {name for content in _kept_contents(state, team) for name in content.schedules}


def _kept_contents(state: RegistryState, team: str) -> Iterator[TeamContent]:
    record = state.teams.get(team)
    for version in () if record is None else record.versions:
        try:
            yield unpacked(state.contents.get(version.digest, ""), version.digest)
        except CommandError:  # a damaged one starts nothing either
            continue


async def apply_schedules(
    registry: Registry, team: str, changes: list[ScheduleChange], record: TeamRecord
) -> Iterator[str]:
    """Make the schedules on the server like those of a version; return what was done, as lines.

    Raises:
        ChangeRefused: Another deployment came in between.
        CommandError: The server rejects a schedule.
    """

    async def is_current() -> bool:
        return (await registry.state()).teams.get(team) == record

    owner = Ownership(registry.client, registry.task_queue, team)
    for change in changes:
        await apply_schedule(owner, change, is_current)
    return (f"  schedule {change.name} {_DONE[change.act]}" for change in changes)


_DONE = {
    "create": "created",
    "replace": "replaced",
    "delete": "deleted",
    "unchanged": "unchanged",
}
_SIGNS = {"create": "+", "replace": "~", "delete": "-", "unchanged": " "}


def plan_lines(change: TeamChange, record: TeamRecord | None, now: datetime) -> Iterator[str]:
    """Yield what a deployment would do to a team, for people."""
    version = change.version
    if not version.is_new:
        yield f"{change.team}@{version.before} unchanged"
    else:
        number = 1 if record is None else record.latest + 1
        yield f"{change.team}@{number} new ({_current_words(change.team, record)})"
        for line in version.lines():
            yield f"    {line}"
    for schedule in change.changed_schedules:
        yield from _schedule_lines(schedule, version.old, now)


def _current_words(team: str, record: TeamRecord | None) -> str:
    if record is None or not record.current:
        return "not deployed yet"
    since = record.since
    return f"now {team}@{record.current}, by {since.by}, {day_and_clock(since.at)}"


def _schedule_lines(
    change: ScheduleChange, old: TeamContent | None, now: datetime
) -> Iterator[str]:
    before = None if old is None else old.schedules.get(change.name)
    words = "" if change.wanted is None else f": {times_in_words(change.wanted.section)}"
    if change.act == "replace" and before is not None:
        was = times_in_words(before)
        words += f" (was {was})" if f": {was}" != words else " (same times)"
    yield f"  {_SIGNS[change.act]} schedule {change.name} {change.act}{words}"
    if change.found is not None and change.found.state.paused and change.act == "replace":
        note = change.found.state.note
        yield f"      stays paused{f': {note}' if note else ''}"
    if change.wanted is not None:
        for moment in next_times(change.wanted.section, now):
            yield f"      {moment}"
