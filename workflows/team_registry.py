"""TeamRegistryWorkflow: keeps the deployed versions of teams, and does nothing else.

It continues as new after each change, so the first event of its latest history always holds all
that it keeps: who reads it needs one request, and no worker.
"""

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from coterie.workflows.core.registry_messages import (
    DEPLOY,
    MAX_CHANGE_WHY,
    MAX_CONTENTS,
    MAX_STATE,
    MAX_TEAMS,
    MAX_VERSIONS,
    REFUSED_CHANGE,
    REGISTRY_WORKFLOW,
    SWITCH,
    SWITCH_RESERVE,
    DeployInput,
    RegistryChange,
    RegistryState,
    SwitchInput,
    TeamRecord,
    VersionRecord,
)


def deploy_problem(state: RegistryState, asked: DeployInput) -> str | None:
    """Return why the registry does not take a new version; None if it does."""
    record = state.teams.get(asked.team)
    moved = _change_since(record, asked.team, asked.expected)
    if moved is not None:
        return moved
    if record is None and len(state.teams) >= MAX_TEAMS:
        return f"the registry has {MAX_TEAMS} teams already"
    after = deployed(state, asked, "")
    if sum(map(len, after.contents.values())) > MAX_CONTENTS:
        return (
            f"the versions that the registry keeps would have more than {MAX_CONTENTS:,} characters"
        )
    return _why_problem(asked.why) or _size_problem(state, after, MAX_STATE - SWITCH_RESERVE)


def switch_problem(state: RegistryState, asked: SwitchInput) -> str | None:
    """Return why the registry does not switch to a version; None if it does."""
    record = state.teams.get(asked.team)
    if record is None:
        return f"{asked.team!r} has never been deployed"
    moved = _change_since(record, asked.team, asked.expected)
    if moved is not None:
        return moved
    if asked.to and record.version(asked.to) is None:
        return f"the registry has no version {asked.team}@{asked.to}"
    return _why_problem(asked.why) or _size_problem(state, switched(state, asked, ""), MAX_STATE)


def _why_problem(why: str) -> str | None:
    if len(why) <= MAX_CHANGE_WHY:
        return None
    return f"the reason has {len(why):,} characters; at most {MAX_CHANGE_WHY:,} are allowed"


def _size_problem(state: RegistryState, after: RegistryState, maximum: int) -> str | None:
    """Return why a change makes the registry too large; one that lets it shrink never does."""
    size = _size_of(after)
    if size <= maximum or size < _size_of(state):
        return None
    return (
        f"the registry would have {size:,} bytes, and {maximum:,} are allowed: give shorter "
        "reasons, or deploy some teams for another task queue"
    )


def _size_of(state: RegistryState) -> int:
    return len(state.model_dump_json().encode())


def _change_since(record: TeamRecord | None, team: str, expected: int) -> str | None:
    current = 0 if record is None else record.current
    if current == expected:
        return None
    if record is None or not current:
        return f"{team}@{expected} is not the current version any more: there is none"
    since = record.since
    seen = f"{team}@{expected}" if expected else "no version"
    return f"{since.by} made {team}@{current} the current version at {since.at}, after {seen}"


def deployed(state: RegistryState, asked: DeployInput, at: str) -> RegistryState:
    """Return the registry with another version of a team, which is the current one."""
    change = RegistryChange(at=at, by=asked.by, why=asked.why)
    record = state.teams.get(asked.team) or TeamRecord(since=change)
    number = record.latest + 1
    version = VersionRecord(number=number, digest=asked.digest, deployed=change)
    kept = (*record.versions, version)[-MAX_VERSIONS:]
    record = TeamRecord(current=number, latest=number, since=change, versions=kept)
    contents = {**state.contents, asked.digest: asked.content}
    return _with(state, asked.team, record, contents)


def switched(state: RegistryState, asked: SwitchInput, at: str) -> RegistryState:
    """Return the registry with another current version of a team."""
    change = RegistryChange(at=at, by=asked.by, why=asked.why)
    record = state.teams[asked.team].model_copy(update={"current": asked.to, "since": change})
    return _with(state, asked.team, record, state.contents)


def _with(
    state: RegistryState, team: str, record: TeamRecord, contents: dict[str, str]
) -> RegistryState:
    """Return the registry with the record of a team, without contents that no version has."""
    teams = {**state.teams, team: record}
    used = {version.digest for one in teams.values() for version in one.versions}
    return RegistryState(
        teams=teams, contents={key: text for key, text in contents.items() if key in used}
    )


@workflow.defn(name=REGISTRY_WORKFLOW, failure_exception_types=[])
class TeamRegistryWorkflow:
    """Takes changes one after the other; each states which version it expects to find."""

    @workflow.init
    def __init__(self, state: RegistryState) -> None:
        """Continue after the earlier histories."""
        self._begun = self._state = state

    @workflow.run
    async def run(self, state: RegistryState) -> None:
        """Wait for a change."""
        await workflow.wait_condition(lambda: self._state is not self._begun)
        workflow.continue_as_new(self._state)

    @workflow.update(name=DEPLOY, description="Makes a content the current version of a team")
    def deploy(self, asked: DeployInput) -> TeamRecord:
        """Keep the content, and make it the current version."""
        self._state = deployed(self._state, asked, _now())
        return self._state.teams[asked.team]

    @deploy.validator
    def _deploy_validator(self, asked: DeployInput) -> None:
        _refuse(deploy_problem(self._state, asked))

    @workflow.update(name=SWITCH, description="Makes an earlier version of a team the current one")
    def switch(self, asked: SwitchInput) -> TeamRecord:
        """Make another version the current one."""
        self._state = switched(self._state, asked, _now())
        return self._state.teams[asked.team]

    @switch.validator
    def _switch_validator(self, asked: SwitchInput) -> None:
        _refuse(switch_problem(self._state, asked))


def _now() -> str:
    return workflow.now().isoformat(timespec="seconds")


def _refuse(problem: str | None) -> None:
    if problem is not None:
        raise ApplicationError(problem, type=REFUSED_CHANGE, non_retryable=True)
