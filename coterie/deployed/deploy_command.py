"""`coterie deploy`: compare the project's teams with the server, and apply the difference."""

from collections.abc import Sequence

from coterie.audit.sent_records import send_record
from coterie.deployed.deployments import (
    VersionChange,
    deploy_version,
    switch_version,
    version_before,
    version_change,
)
from coterie.deployed.proposals import proposal_of
from coterie.deployed.registry import Registry
from coterie.deployed.registry_changes import serving_registry
from coterie.deployed.version_references import reference_of
from coterie.documents.catalog import Catalog
from coterie.dsl.errors import listed
from coterie.failures import CommandError, ExitCode
from coterie.logs import quietly
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.terminal import note, say
from coterie.text.moments import day_and_clock
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
    state = await registry.state()
    changes = _changes(settings, targets, state)
    for change in changes:
        _say_change(change, state)
    new = [change for change in changes if change.is_new]
    if not new:
        note("nothing changes")
        return ExitCode.DONE
    note(f"{counted(len(new), 'team')} would change; nothing is done: leave out --plan to apply it")
    return ExitCode.RUN_FAILED if exit_code else ExitCode.DONE


async def apply(settings: Settings, targets: Sequence[str], why: str) -> ExitCode:
    """Deploy what differs."""
    registry = await open_registry(settings)
    state = await registry.state()
    changes = _changes(settings, targets, state)
    new = [change for change in changes if change.is_new]
    for change in changes:
        if not change.is_new:
            say(f"{change.team}@{change.before} unchanged")
    if new:
        async with serving_registry(registry):
            for change in new:
                record = await deploy_version(registry, change, why)
                await _record(registry, settings, "deployed", change.team, record)
                say(f"{change.team}@{record.current} deployed")
    return ExitCode.DONE


async def roll_back(settings: Settings, text: str, why: str) -> ExitCode:
    """Make an earlier version the current one."""
    team, number = reference_of(text)
    registry = await open_registry(settings)
    record = _deployed_record(await registry.state(), team)
    to = version_before(record) if number is None else number
    if to is None:
        raise CommandError(f"{team}@{record.current} has no earlier version to roll back to")
    if to == record.current:
        say(f"{team}@{to} unchanged: it is the current version")
        return ExitCode.DONE
    async with serving_registry(registry):
        changed = await switch_version(registry, team, record, to, why)
    await _record(registry, settings, "rolled back", team, changed)
    say(f"{team}@{changed.current} is the current version, instead of {team}@{record.current}")
    return ExitCode.DONE


async def remove(settings: Settings, team: str, why: str) -> ExitCode:
    """Let the name of a team start no deployed version any more."""
    registry = await open_registry(settings)
    record = _deployed_record(await registry.state(), team)
    async with serving_registry(registry):
        changed = await switch_version(registry, team, record, 0, why)
    await _record(registry, settings, "removed", team, changed)
    say(f"{team} removed: its name starts what the worker's files have; its versions stay")
    return ExitCode.DONE


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


def _changes(
    settings: Settings, targets: Sequence[str], state: RegistryState
) -> list[VersionChange]:
    catalog = Catalog(settings)
    names = targets or [located.name for located in catalog.own()]
    if not names:
        raise CommandError(
            "there is no config/teams here; name a document (`coterie deploy team.yml`)"
        )
    changes = [version_change(state, proposal_of(catalog, name)) for name in names]
    teams = [change.team for change in changes]
    twice = next((team for team in teams if teams.count(team) > 1), None)
    if twice is not None:
        raise CommandError(f"two of the documents are called {twice!r}: a name has one version")
    return changes


def _say_change(change: VersionChange, state: RegistryState) -> None:
    record = state.teams.get(change.team)
    if not change.is_new:
        say(f"{change.team}@{change.before} unchanged")
        return
    number = 1 if record is None else record.latest + 1
    now = "not deployed yet"
    if record is not None and record.current:
        since = record.since
        now = f"now {change.team}@{record.current}, by {since.by}, {day_and_clock(since.at)}"
    say(f"{change.team}@{number} new ({now})")
    for line in change.lines():
        say(f"    {line}")
