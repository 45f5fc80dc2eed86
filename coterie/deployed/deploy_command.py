"""`coterie deploy`: compare the project's teams with the server, and apply the difference."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime

from coterie.audit.sent_records import send_record
from coterie.deployed.deployments import deploy_version, switch_version, version_before
from coterie.deployed.proposals import proposal_of
from coterie.deployed.registry import Registry, version_named
from coterie.deployed.registry_changes import serving_registry
from coterie.deployed.schedule_changes import Ownership, schedule_changes
from coterie.deployed.team_changes import (
    TeamChange,
    apply_schedules,
    earlier_schedules,
    plan_lines,
    team_change,
)
from coterie.deployed.version_references import reference_of
from coterie.documents.catalog import Catalog
from coterie.dsl.errors import listed
from coterie.dsl.model.sections.schedule_trigger import ScheduleSection
from coterie.failures import CommandError, ExitCode
from coterie.logs import quietly
from coterie.runs.task_queues import is_served
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.terminal import note, say
from coterie.text.problems import counted
from coterie.workflows.core.audit_messages import AuditedAct
from coterie.workflows.core.registry_messages import RegistryState, TeamRecord


async def open_registry(settings: Settings) -> Registry:
    """Connect to the registry of the project's task queue."""
    quietly(settings)
    connection = await open_connection(settings, start=True)
    return Registry(connection.client, settings.task_queue)


async def show_plan(settings: Settings, targets: Sequence[str], *, exit_code: bool) -> ExitCode:
    """Show what a deployment would change."""
    registry = await open_registry(settings)
    state, now = await registry.state(), datetime.now(UTC)
    changes = await _changes(settings, targets, registry, now)
    for change in changes:
        for line in plan_lines(change, state.teams.get(change.team), now):
            say(line)
    different = [change for change in changes if not change.is_empty]
    if not different:
        note("nothing changes")
        return ExitCode.DONE
    what = counted(len(different), "team")
    note(f"{what} would change; nothing is done: leave out --plan to apply it")
    return ExitCode.RUN_FAILED if exit_code else ExitCode.DONE


async def apply(settings: Settings, targets: Sequence[str], why: str) -> ExitCode:
    """Deploy what differs."""
    registry = await open_registry(settings)
    changes = await _changes(settings, targets, registry, datetime.now(UTC))
    async with AsyncExitStack() as serving:
        if any(change.version.is_new for change in changes):
            await serving.enter_async_context(serving_registry(registry))
        for change in changes:
            await _apply_team(registry, settings, change, why)
    if any(change.version.proposal.content.schedules for change in changes):
        await _note_without_worker(registry)
    return ExitCode.DONE


async def _note_without_worker(registry: Registry) -> None:
    if not await is_served(registry.client, registry.task_queue):
        note(
            f"no worker serves the task queue {registry.task_queue!r}, where schedules start runs: "
            "start `coterie worker`"
        )


async def _apply_team(registry: Registry, settings: Settings, change: TeamChange, why: str) -> None:
    if change.version.is_new:
        record = await deploy_version(registry, change.version, why)
        await _record(registry, settings, "deployed", change.team, record)
        say(f"{change.team}@{record.current} deployed")
    else:
        record = (await registry.state()).teams[change.team]
        say(f"{change.team}@{record.current} unchanged")
    for line in await apply_schedules(registry, change.team, change.changed_schedules, record):
        say(line)


async def roll_back(settings: Settings, text: str, why: str) -> ExitCode:
    """Make an earlier version the current one."""
    team, number = reference_of(text)
    registry = await open_registry(settings)
    state = await registry.state()
    record = _deployed_record(state, team)
    to = version_before(record) if number is None else number
    if to is None:
        raise CommandError(f"{team}@{record.current} has no earlier version to roll back to")
    version = version_named(state, f"{team}@{to}")
    assert version is not None
    schedules = version.content.schedules
    if to != record.current:
        async with serving_registry(registry):
            changed = await switch_version(registry, team, record, to, why)
        await _record(registry, settings, "rolled back", team, changed)
        say(f"{team}@{to} is the current version, instead of {team}@{record.current}")
        record = changed
    else:
        say(f"{team}@{to} unchanged: it is the current version")
    await _reconcile(registry, state, team, schedules, record)
    return ExitCode.DONE


async def remove(settings: Settings, team: str, why: str) -> ExitCode:
    """Let the name of a team start no deployed version any more."""
    registry = await open_registry(settings)
    state = await registry.state()
    record = _deployed_record(state, team)
    async with serving_registry(registry):
        changed = await switch_version(registry, team, record, 0, why)
    await _record(registry, settings, "removed", team, changed)
    say(f"{team} removed: its name starts what the worker's files have; its versions stay")
    await _reconcile(registry, state, team, {}, changed)
    return ExitCode.DONE


async def _reconcile(
    registry: Registry,
    state: RegistryState,
    team: str,
    schedules: Mapping[str, ScheduleSection],
    record: TeamRecord,
) -> None:
    """Make the schedules of a team those of the version that is now the current one."""
    owner = Ownership(registry.client, registry.task_queue, team)
    found = await schedule_changes(owner, schedules, earlier_schedules(state, team))
    changes = [change for change in found if change.act != "unchanged"]
    for line in await apply_schedules(registry, team, changes, record):
        say(line)


async def _record(
    registry: Registry, settings: Settings, act: AuditedAct, team: str, record: TeamRecord
) -> None:
    await send_record(registry.client, settings, act, f"{team}@{record.current}")


def _deployed_record(state: RegistryState, team: str) -> TeamRecord:
    record = state.teams.get(team)
    if record is None or not record.current:
        known = [name for name, one in state.teams.items() if one.current]
        hint = f"deployed are {listed(sorted(known))}" if known else "no team is"
        raise CommandError(f"{team!r} is not deployed; {hint}")
    return record


async def _changes(
    settings: Settings, targets: Sequence[str], registry: Registry, now: datetime
) -> list[TeamChange]:
    catalog = Catalog(settings)
    names = targets or [located.name for located in catalog.own()]
    if not names:
        raise CommandError(
            "there is no config/teams here; name a document (`coterie deploy team.yml`)"
        )
    proposals = [proposal_of(catalog, name, now) for name in names]
    teams = [proposal.team for proposal in proposals]
    twice = next((team for team in teams if teams.count(team) > 1), None)
    if twice is not None:
        raise CommandError(f"two of the documents are called {twice!r}: a name has one version")
    state = await registry.state()
    return [await team_change(registry, state, proposal) for proposal in proposals]
