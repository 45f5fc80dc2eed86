"""`coterie versions`: the deployed versions of teams as text and JSON."""

import json
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from coterie.deployed.deploy_command import open_registry
from coterie.deployed.registry import version_named
from coterie.deployed.version_references import reference_of
from coterie.dsl.errors import listed
from coterie.dsl.redaction import redacted
from coterie.failures import CommandError, ExitCode
from coterie.settings import Settings
from coterie.terminal import note, say
from coterie.text.columns import aligned
from coterie.text.moments import day_and_clock
from coterie.workflows.core.registry_messages import RegistryState, TeamRecord


async def show_versions(settings: Settings, text: str | None, *, as_json: bool) -> ExitCode:
    """Print the versions of all teams, of one, or the text of one version."""
    registry = await open_registry(settings)
    state = await registry.state()
    reference = None if text is None else reference_of(text)
    if text is not None and reference is not None and reference.number is not None:
        _say_version(state, text, as_json=as_json)
        return ExitCode.DONE
    teams = _teams_to_show(state, text)
    if as_json:
        say(json.dumps({team: record_json(record) for team, record in teams.items()}, indent=2))
    elif teams:
        for line in aligned(list(_rows(teams))):
            say(line)
    else:
        note(f"nothing is deployed for the task queue {settings.task_queue!r}")
    return ExitCode.DONE


def _teams_to_show(state: RegistryState, team: str | None) -> dict[str, TeamRecord]:
    if team is None:
        return dict(sorted(state.teams.items()))
    if team not in state.teams:
        known = f"known are {listed(sorted(state.teams))}" if state.teams else "no team ever was"
        raise CommandError(f"{team!r} has not been deployed; {known}")
    return {team: state.teams[team]}


def record_json(record: TeamRecord) -> JsonValue:
    """Return the versions of a team for programs."""
    return record.model_dump(mode="json")


def _rows(teams: dict[str, TeamRecord]) -> Iterator[Sequence[str]]:
    for team, record in teams.items():
        for version in reversed(record.versions):
            deployed = version.deployed
            yield (
                f"{team}@{version.number}",
                "current" if version.number == record.current else "",
                version.digest[:12],
                day_and_clock(deployed.at),
                deployed.by,
                deployed.why,
            )


def _say_version(state: RegistryState, text: str, *, as_json: bool) -> None:
    version = version_named(state, text)
    if version is None:
        raise CommandError(f"{text} is not deployed")
    if as_json:
        say(json.dumps(version.content.model_dump(mode="json", by_alias=True), indent=2))
        return
    for file in version.content.files:
        say(f"# {file.file}")
        say(redacted(file.text))
