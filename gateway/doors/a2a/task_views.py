"""Where a task stands: a run in the terms of A2A, from its history and its worker."""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from pydantic import JsonValue
from temporalio.client import WorkflowExecutionDescription

from coterie.dsl.analysis.answering_steps import streaming_steps
from coterie.dsl.json_values import json_digest
from coterie.dsl.model.traversal.step_paths import message_wait_paths
from coterie.dsl.values import Json
from coterie.dsl.visible import shortened_text, visible
from coterie.failures import CommandError
from coterie.gateway.doors.a2a.message_contents import decisions_about
from coterie.gateway.doors.a2a.run_readings import RunReading, RunReadings, StepOutput
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.histories.recorded_plans import plan_of_run
from coterie.storage.wire import text_of
from coterie.workflows.core.memo_keys import THREAD
from coterie.workflows.core.requests import Pending

TaskState = Literal[
    "submitted", "working", "input_required", "completed", "failed", "canceled", "rejected"
]
TERMINAL: frozenset[TaskState] = frozenset({"completed", "failed", "canceled", "rejected"})
RESULT = "result"
"""The id of the artifact with the result of a run."""

_MAX_TEXT = 4_000
_MAX_REQUESTS = 20
_MAX_PLANS = 2_000
_REFUSED = "RunRefused"
"""The failure of a run that never began."""


@dataclass(frozen=True, slots=True)
class TaskView:
    """One task at one moment."""

    id: str
    context: str
    """The conversation that it belongs to."""
    team: str
    state: TaskState
    at: datetime
    """When it came into this state, as far as is known."""
    text: str
    """What the state means, for people."""
    data: JsonValue
    """The same for programs: the requests that wait. None if there is nothing to say."""
    reading: RunReading
    result: tuple[StepOutput, ...] = ()
    """The result of a run that has completed: one, or none."""
    pending: tuple[Pending, ...] = ()
    awaits_message: bool = False
    """Whether it is a session that waits for a message."""

    @property
    def message_id(self) -> str:
        """The id of the message of its status: of what a client sees, not of the moment."""
        return json_digest(self.id, self.state, self.text, self.data)[:32]

    @property
    def is_over(self) -> bool:
        """Whether nothing follows."""
        return self.state in TERMINAL

    @property
    def stops(self) -> bool:
        """Whether nothing follows by itself."""
        return self.is_over or self.state == "input_required"


@dataclass(frozen=True, slots=True)
class _Standing:
    """The state of a run, and why."""

    state: TaskState
    text: str = ""
    data: JsonValue = None
    at: datetime | None = None
    pending: tuple[Pending, ...] = ()
    awaits_message: bool = False


class _PlanSteps(NamedTuple):
    """Steps of a plan, as `team/path`."""

    waits: frozenset[str] = frozenset()
    """Those that wait for a message of a session."""
    texts: frozenset[str] = frozenset()
    """Those whose texts come while models write them."""


class TaskViews:
    """Reads tasks."""

    def __init__(self, access: RunAccess) -> None:
        """Take the runs."""
        self._access = access
        self._readings = RunReadings(access.pages)
        self._steps: OrderedDict[str, _PlanSteps] = OrderedDict()

    async def view(self, found: FoundRun) -> TaskView:
        """Return a task as it is now.

        Raises:
            CommandError: The run was deleted, or the server does not answer.
        """
        reading = await self._readings.read(found.run.id)
        closed = reading.closed
        standing = (
            await self._open(found, reading) if closed is None else _ended_standing(closed.end)
        )
        result: tuple[StepOutput, ...] = ()
        if closed is not None and standing.state == "completed":
            end = closed.end.result
            result = () if end is None else (StepOutput(RESULT, RESULT, 1, end.output),)
        return TaskView(
            id=found.run.id,
            context=context_of(found.description),
            team=found.team,
            state=standing.state,
            at=standing.at or reading.at,
            text=shortened_text(visible(standing.text), _MAX_TEXT),
            data=standing.data,
            reading=reading,
            result=result,
            pending=standing.pending,
            awaits_message=standing.awaits_message,
        )

    async def _open(self, found: FoundRun, reading: RunReading) -> _Standing:
        run = found.run
        try:
            status = await run.status()
            waiting = await run.pending() if status.waiting_for else ()
            waiting = tuple([await run.whole(request) for request in waiting[:_MAX_REQUESTS]])
        except CommandError as error:
            has_begun = bool(reading.outputs or reading.taken or reading.agents)
            return _Standing("working" if has_begun else "submitted", str(error))
        if waiting:
            return _asked_standing(waiting)
        doing = [current.step for current in status.doing]
        waits = (await self._plan_steps(run.id)).waits
        if status.state == "running" and not reading.working_on and waits.intersection(doing):
            return _session_standing(reading)
        if status.state == "paused" and status.paused is not None:
            return _Standing("working", f"paused by {status.paused.by}: {status.paused.why}")
        return _Standing("working", f"at {', '.join(doing[-3:])}" if doing else "")

    async def text_steps(self, run: str) -> frozenset[str]:
        """Return the steps whose texts come while models write them."""
        return (await self._plan_steps(run)).texts

    async def _plan_steps(self, run: str) -> _PlanSteps:
        """Return what the plan of a run says of its steps; a plan never changes."""
        if run not in self._steps:
            plan = await plan_of_run(self._access.client, run)
            if plan is None:
                return _PlanSteps()
            self._steps[run] = _PlanSteps(message_wait_paths(plan), streaming_steps(plan))
            while len(self._steps) > _MAX_PLANS:
                self._steps.popitem(last=False)
        return self._steps[run]


def context_of(description: WorkflowExecutionDescription) -> str:
    """Return the conversation of a run: the one that a client named, or its own."""
    memo = description.raw_description.workflow_execution_info.memo.fields
    return (text_of(memo[THREAD]) if THREAD in memo else "") or description.id


def request_facts(request: Pending) -> Json:
    """Return what a program needs to know of a request in order to answer it."""
    facts: Json = {
        "request": request.id,
        "prompt": request.prompt,
        "show": request.show,
        "digest": request.digest,
        "decisions": list(decisions_about(request)),
    }
    if request.is_question:
        facts["is_question"] = True
    if request.editable:
        facts["editable"] = True
        facts["schema"] = request.payload_schema
    if request.call is not None:
        facts["call"] = request.call.name
        facts["effect"] = request.call.effect
        facts["input"] = request.given
    if request.approvers:
        facts["approvers"] = list(request.approvers)
    if request.deadline is not None:
        facts["deadline"] = request.deadline
    return facts


def _asked_standing(waiting: tuple[Pending, ...]) -> _Standing:
    lines = [f"{request.id} waits for a decision: {request.prompt}" for request in waiting]
    since = min(datetime.fromisoformat(request.since) for request in waiting)
    return _Standing(
        "input_required",
        "\n".join(lines),
        {"requests": [request_facts(request) for request in waiting]},
        since.replace(tzinfo=since.tzinfo or UTC),
        pending=waiting,
    )


def _session_standing(reading: RunReading) -> _Standing:
    reply: JsonValue = reading.replies[-1].value if reading.replies else None
    if reading.unanswered:
        text = f"there is no reply: {reading.unanswered}"
    else:
        text = reply if isinstance(reply, str) else "the next message is awaited"
    data = None if reply is None or isinstance(reply, str) else reply
    return _Standing("input_required", text, data, awaits_message=True)


def _ended_standing(end: RunEnd) -> _Standing:
    reason = incomplete_reason(end)
    match end.state:
        case "completed":
            return _Standing("completed", "" if end.result is None else end.result.because)
        case "cancelled":
            return _Standing("canceled", reason)
        case "failed" if end.failure is not None and end.failure.type == _REFUSED:
            return _Standing("rejected", reason)
        case "failed" | "terminated" | "timed out":
            return _Standing("failed", reason)
