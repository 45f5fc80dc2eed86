"""Start teams as child workflows of your own Python workflows.

This module needs `temporalio` and nothing else, so it may be imported inside the sandbox of a
workflow. Results are plain dataclasses, and always stand in the history of the caller.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any, cast

from temporalio import workflow
from temporalio.exceptions import ApplicationError, ChildWorkflowError

__all__ = [
    "ChildTeam",
    "ChildTeamFailed",
    "ChildTeamRefused",
    "ChildTeamResult",
    "run_team",
    "start_team",
]

WORKFLOW = "TeamWorkflow"
"""The type of the workflow that runs a team."""

TASK_QUEUE = "coterie"
"""Where a worker of Coterie listens, if nothing else is configured."""

REFUSED = "RunRefused"
"""The type of the failure of a run that has not begun."""


@dataclass(frozen=True)
class ChildTeamResult:
    """What a run came to."""

    end: str
    """How it ended, such as `completed`."""
    because: str = ""
    """Why it ended so, for people."""
    output: Any = None
    """The declared output of the document; without one, `{task: data}` of the last team."""
    context: dict[str, Any] = field(default_factory=dict[str, Any])
    visits: dict[str, int] = field(default_factory=dict[str, int])
    """`{team: how often it ran}`."""
    model_calls: int = 0
    usage: dict[str, Any] = field(default_factory=dict[str, Any])
    """Tokens."""
    cost: float | None = None
    """US dollars; None when no call has a price."""
    error: dict[str, Any] | None = None
    """The failure that ended the run: its `type` and its `message`."""


class ChildTeamFailed(ApplicationError):
    """The team did not complete. Your workflow fails with it if it does not catch it."""

    def __init__(self, message: str, type: str, result: ChildTeamResult | None) -> None:
        """Keep what the run came to.

        Args:
            message: Why it failed.
            type: Of its failure.
            result: What it came to, if the run says so.
        """
        super().__init__(message, type=type, non_retryable=True)
        self.result = result


class ChildTeamRefused(ChildTeamFailed):
    """The run has not begun: the team is unknown, or its context does not fit."""


@dataclass(frozen=True)
class ChildTeam:
    """A run that this workflow has started."""

    id: str
    """What `coterie` and people call it."""
    handle: workflow.ChildWorkflowHandle[Any, Any] = field(repr=False)

    async def result(self) -> ChildTeamResult:
        """Wait for its end.

        Raises:
            ChildTeamRefused: It has not begun.
            ChildTeamFailed: It did not complete.
            ChildWorkflowError: It was cancelled, terminated, or ran out of time.
        """
        try:
            return result_of(await self.handle)
        except ChildWorkflowError as error:
            raise _failure_of(error) from error

    async def approve(self, request: str, *, by: str, comment: str = "") -> None:
        """Approve a request. One that does not wait is noted in the trail of the run alone."""
        await self.signal("approve", {"id": request, "by": by, "comment": comment})

    async def reject(self, request: str, *, by: str, comment: str = "") -> None:
        """Reject a request; like `approve`."""
        await self.signal("reject", {"id": request, "by": by, "comment": comment})

    async def signal(self, name: str, payload: Any = None) -> None:
        """Send a signal: one that a step waits for, `pause`, `resume`."""
        await self.handle.signal(name, payload)

    def cancel(self) -> None:
        """Ask it to stop: its `on_cancel` team and its `finally` steps still run."""
        self.handle.cancel()


async def start_team(
    team: str | None = None,
    *,
    document: str | None = None,
    context: Mapping[str, Any] | None = None,
    id: str | None = None,
    task_queue: str = TASK_QUEUE,
    execution_timeout: timedelta | None = None,
) -> ChildTeam:
    """Start a run of a team as a child of this workflow; return when it has started.

    When this workflow ends before the run, the run is asked to cancel and cleans up.

    Args:
        team: Its name on the worker of Coterie.
        document: Its YAML, instead of a name.
        context: What the run starts with.
        id: The id of the run. Default: one of the SDK's.
        task_queue: Where the worker of Coterie listens.
        execution_timeout: Time limit of the whole run.
    """
    if (team is None) is (document is None):
        raise ChildTeamRefused("a run starts from `team` or `document`", REFUSED, None)
    given: dict[str, Any] = {"context": dict(context or {})}
    given |= {"document": document} if team is None else {"team": team}
    handle: workflow.ChildWorkflowHandle[Any, Any] = await workflow.start_child_workflow(
        WORKFLOW,
        given,
        id=id,
        task_queue=task_queue,
        execution_timeout=execution_timeout,
        parent_close_policy=workflow.ParentClosePolicy.REQUEST_CANCEL,
        cancellation_type=workflow.ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
        static_summary=team or "a document",
    )
    return ChildTeam(handle.id, handle)


async def run_team(
    team: str | None = None,
    *,
    document: str | None = None,
    context: Mapping[str, Any] | None = None,
    id: str | None = None,
    task_queue: str = TASK_QUEUE,
    execution_timeout: timedelta | None = None,
) -> ChildTeamResult:
    """Run a team as a child of this workflow, and return its result; as `start_team`."""
    run = await start_team(
        team,
        document=document,
        context=context,
        id=id,
        task_queue=task_queue,
        execution_timeout=execution_timeout,
    )
    return await run.result()


def result_of(value: Mapping[str, Any]) -> ChildTeamResult:
    """Return a result from its JSON; what a newer Coterie adds is left out."""
    names = {one.name for one in fields(ChildTeamResult)}
    return ChildTeamResult(**{name: part for name, part in value.items() if name in names})


def _failure_of(error: ChildWorkflowError) -> BaseException:
    cause = error.cause
    if not isinstance(cause, ApplicationError):
        return error  # cancelled, terminated, or out of time
    value = cause.details[0] if cause.details else None
    stated = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    result = result_of(stated) if "end" in stated else None
    made = ChildTeamRefused if cause.type == REFUSED else ChildTeamFailed
    return made(cause.message, cause.type or "TeamFailed", result)
