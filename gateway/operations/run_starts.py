"""Start runs: of a team, or in the middle of another run."""

import asyncio
from collections.abc import Iterable, Mapping

from pydantic import Field, JsonValue

from coterie.control.new_forks import NewFork, begin_fork, origin_of, retry_or_fork
from coterie.deployed.named_starts import check_context
from coterie.deployed.registry import Registry
from coterie.deployed.version_references import reference_of
from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located, startable
from coterie.dsl.errors import listed, nearest
from coterie.dsl.values import Documented, Json
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.operation import (
    AnyOperation,
    ContextUpdates,
    MessageId,
    Name,
    Operation,
    RunId,
    SteeringAsked,
    TeamAsked,
)
from coterie.gateway.operations.permissions import Allowed, may
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_permissions import starting_run, trail_name, update_id
from coterie.runs.new_runs import start_run
from coterie.runs.records import new_id
from coterie.runs.task_queues import is_served
from coterie.settings import Settings
from coterie.workflows.core.messages import ForkInput, RetryInput, TeamInput
from coterie.workflows.core.requests import Decision

TEAM_READERS = (Role.VIEWER, Role.STARTER)
"""Who sees that the project has a team."""
_GIVE = "give it in `context`"
_LOOKS = 20
"""Looks whether a worker has found the point of a fork: it takes about a second."""


class StartAsked(TeamAsked):
    """The input of `start`: a team by its name, or one deployed version of it: `review@3`."""

    context: Json = Field(default_factory=dict[str, JsonValue])
    """The context with which it starts."""
    id: RunId | None = None
    """The run's id. Default: a generated one. Sent again, the same id starts no second run."""


class StartedRun(Documented):
    """A run that was started."""

    run: str
    team: str
    is_served: bool
    """Whether a worker polls its task queue now."""
    continues_from: str | None = None
    """Of a fork: the point where it starts; None while no worker has found it."""


class RetryAsked(SteeringAsked):
    """The input of `retry`."""

    task: Name | None = None
    """The task of an open run. Default: the only one that waits."""
    updates: ContextUpdates = Field(default_factory=dict[str, JsonValue])
    """`{dotted path: value}`: changes to the context."""
    id: RunId | None = None
    """Id of the run that retries a failed one. Default: a generated one."""
    message_id: MessageId | None = None
    """Of a retry of an open run: sent again by you with this id, it counts once."""
    digest: str | None = Field(default=None, max_length=64)
    """Of the request of a failed task that you have seen: refused if it has changed."""


class RetryOutcome(Documented):
    """What retries: the run itself, or another one."""

    decision: Decision | None = None
    """Of an open run, whose task is retried."""
    started: StartedRun | None = None
    """Of a failed run: the run that continues where it failed."""


class ForkAsked(SteeringAsked):
    """The input of `fork`: needs `at` or `message`."""

    at: Name | None = None
    """The visit where the new run starts, such as `review#2`."""
    message: int | None = Field(default=None, ge=1, le=2**31)
    """In a session, the number of the message that the new run waits for."""
    updates: ContextUpdates = Field(default_factory=dict[str, JsonValue])
    """`{dotted path: value}`: changes to the context."""
    id: RunId | None = None
    """The new run's id. Default: a generated one."""


async def _start(access: RunAccess, asked: StartAsked, identity: Identity) -> StartedRun:
    return await start_team(access, asked, identity, {})


async def start_team(
    access: RunAccess, asked: StartAsked, identity: Identity, memo: Mapping[str, str]
) -> StartedRun:
    """Start a run of a team, or of a version of it, for an identity that may.

    Args:
        access: The runs.
        asked: What starts.
        identity: Who starts it.
        memo: What lists show of the run beside the name of its team.

    Raises:
        CommandError: There is no such team, the context does not fit, or the id is taken.
    """
    settings, client = access.settings, access.client
    version = await Registry(client, settings.task_queue).version(asked.team)
    if version is None:
        is_known = await asyncio.to_thread(_check_context, settings, asked)
        if not is_known and settings.address is None:
            raise unknown_team(await access.teams.names(), asked.team, identity)
    else:
        check_context(version, asked.context, _GIVE)
    team = reference_of(asked.team).team
    async with starting_run(access, identity, asked.id):
        run = await start_run(
            client,
            asked.id or new_id(team),
            TeamInput(team=asked.team if version is None else version.name, context=asked.context),
            task_queue=settings.task_queue,
            summary=team,
            memo=memo,
        )
    served = await is_served(client, settings.task_queue)
    return StartedRun(run=run.id, team=team, is_served=served)


def _check_context(settings: Settings, asked: StartAsked) -> bool:
    """Refuse what the worker would refuse, if its documents are those of this project.

    Returns:
        Whether the project has such a team.

    Raises:
        CommandError: The context does not fit, or the document has problems.
    """
    catalog = Catalog(settings)
    located = catalog.named(asked.team)
    if located is None:
        return False
    startable(compile_located(catalog, located), asked.context, how=_GIVE)
    return True


def unknown_team(names: Iterable[str], team: str, identity: Identity) -> Rejection:
    """Return the error for a team that the project does not have; it names what who asks sees."""
    names = [name for name in names if isinstance(may(identity, TEAM_READERS, name), Allowed)]
    hint = nearest(team, names) or (f"The teams are: {listed(names)}." if names else "")
    return Rejection(404, "unknown_team", f"the project has no team {team!r}", hint)


async def _retry(access: RunAccess, asked: RetryAsked, identity: Identity) -> RetryOutcome:
    found = await access.existing(asked.run)
    by = trail_name(identity, found.team)
    retry_input = RetryInput(task=asked.task, by=by, why=asked.why, digest=asked.digest)
    async with starting_run(access, identity, asked.id):
        retried = await retry_or_fork(
            access.settings,
            access.client,
            asked.run,
            retry_input,
            asked.updates,
            asked.id,
            access.signer(by, identity),
            update_id(identity, asked.message_id),
        )
    if isinstance(retried, NewFork):
        return RetryOutcome(started=await _started_fork(access, retried, found.team))
    return RetryOutcome(decision=retried)


async def _fork(access: RunAccess, asked: ForkAsked, identity: Identity) -> StartedRun:
    if (asked.at is None) == (asked.message is None):
        raise Rejection(422, "invalid", "a fork needs either `at` or `message`", "Give one.")
    found = await access.existing(asked.run)
    fork_input = ForkInput(
        run=asked.run,
        at=asked.at,
        message=asked.message,
        updates=asked.updates,
        by=trail_name(identity, found.team),
        why=asked.why,
    )
    async with starting_run(access, identity, asked.id):
        fork = await begin_fork(access.settings, access.client, fork_input, asked.id)
    return await _started_fork(access, fork, found.team)


async def _started_fork(access: RunAccess, fork: NewFork, team: str) -> StartedRun:
    """Wait a little for a worker to find the point; raise if the run cannot start there."""
    origin = await origin_of(fork.run, _LOOKS)
    queue = (await fork.run.describe()).task_queue
    served = origin is not None or await is_served(access.client, queue)
    return StartedRun(run=fork.run.id, team=team, is_served=served, continues_from=origin)


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        "start",
        "Starts a run of a team.",
        "POST",
        "/runs",
        (Role.STARTER,),
        "team",
        StartAsked,
        StartedRun,
        _start,
    ),
    Operation(
        "retry",
        "Retries a failed task, or a failed run from where it failed.",
        "POST",
        "/runs/{run}/retry",
        (Role.OPERATOR,),
        "run",
        RetryAsked,
        RetryOutcome,
        _retry,
    ),
    Operation(
        "fork",
        "Starts another run from a point of an old one.",
        "POST",
        "/runs/{run}/fork",
        (Role.OPERATOR,),
        "run",
        ForkAsked,
        StartedRun,
        _fork,
    ),
)
