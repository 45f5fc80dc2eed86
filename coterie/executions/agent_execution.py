"""AgentExecution: the state of a run at one moment, read from its durable history.

The history stays the truth: a run continues from it, never from such a snapshot.
"""

from datetime import datetime
from typing import Literal, assert_never

from temporalio.client import Client, WorkflowHistory

from coterie.dsl.values import Frozen, Json, JsonValue
from coterie.failures import CommandError
from coterie.replay.rebuilt_run import NotFollowed, Rebuilt, rebuilt
from coterie.runs.ends.end_facts import ClosedState
from coterie.runs.histories.history_events import closed, read_event, started
from coterie.runs.run_client import Run
from coterie.version import own_version
from coterie.workflows.core.memo_keys import FORKED_RUN
from coterie.workflows.core.views import RunStatus

ExecutionStatus = Literal["running", "paused", "completed", "failed"]
"""`paused` also means that the run waits for a person; `failed` also that it was cancelled."""

_NUL = "\0"


class AgentExecution(Frozen):
    """One row of the table `agent_executions`."""

    id: str
    """The id of the run."""
    session_id: str
    """The id of the run that the session began with: of a fork, the run that it was forked from;
    else the run itself."""
    status: ExecutionStatus
    state_snapshot: Json
    """The whole state: `plan`, `digest`, `version`, `standing`, `pause_reason`, `context`, and
    `state`, which is what the run itself carries along when it continues as new."""
    created_at: datetime
    """When the run began, UTC."""
    updated_at: datetime
    """The time of the latest event of the history, UTC: equal histories give equal rows."""


async def read_execution(client: Client, id: str) -> AgentExecution:
    """Read the state of a run from its history; needs no worker.

    Raises:
        CommandError: The run does not exist, or another version of Coterie ran it.
    """
    run = Run(client, id)
    began = await run.began(await run.describe())
    return await execution_of(await run.history(), began)


async def execution_of(history: WorkflowHistory, began: datetime | None = None) -> AgentExecution:
    """Return the state of the run that has this history.

    Args:
        history: Of its latest part.
        began: When the run began. Default: when this history did.

    Raises:
        CommandError: This version of Coterie cannot follow it.
    """
    rebuilt_run = await rebuilt(history, snapshot=True)
    if isinstance(rebuilt_run, NotFollowed):
        raise CommandError(
            f"the state of run {history.workflow_id!r} cannot be read: {rebuilt_run.cause}; use "
            "the version of Coterie that ran it"
        )
    first, end = started(history), closed(history)
    fork = first.input.fork
    origin = first.memo.get(FORKED_RUN, None if fork is None else fork.run)
    became = None if end is None else end.state
    return AgentExecution(
        id=history.workflow_id,
        session_id=origin or history.workflow_id,
        status=_status(rebuilt_run.status, became),
        state_snapshot=_snapshot(rebuilt_run, became),
        created_at=began or first.at,
        updated_at=read_event(history.events[-1]).at,
    )


def _status(status: RunStatus, became: ClosedState | None) -> ExecutionStatus:
    if became is not None:
        return "completed" if became == "completed" else "failed"
    match status.state:
        case "running" | "done":  # how it ends is known when Temporal has closed it
            return "running"
        case "paused" | "waiting":
            return "paused"
        case "stopping" | "cancelled":
            return "failed"
        case _:
            assert_never(status.state)


def _snapshot(rebuilt_run: Rebuilt, became: ClosedState | None) -> Json:
    status = rebuilt_run.status
    waits = ", ".join(status.waiting_for)
    reason = status.paused.why or status.paused.by if status.paused else waits
    snapshot: Json = {
        "plan": status.plan,
        "digest": status.digest,
        "version": own_version(),
        "standing": became or status.state,
        "pause_reason": reason or None,
        "team": status.team,
        "visit": status.visit,
        "context": rebuilt_run.context,
        "state": rebuilt_run.snapshot,
    }
    return {key: _without_nul(value) for key, value in snapshot.items()}


def _without_nul(value: JsonValue) -> JsonValue:
    """Replace NUL characters, which PostgreSQL stores nowhere."""
    match value:
        case str():
            return value.replace(_NUL, "\ufffd") if _NUL in value else value
        case dict():
            return {key.replace(_NUL, "\ufffd"): _without_nul(item) for key, item in value.items()}
        case list():
            return [_without_nul(item) for item in value]
        case _:
            return value
