"""A Temporal server in this process: it feeds one run of the real SDK, activation by activation.

Time is simulated, and each moment that brings something is one workflow task. So a test can suggest
to continue as new in any of them, at a thousandth of what a server takes. What asyncio does here is
what it does in a worker: only core and the server are replaced.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple, cast

from pydantic import JsonValue
from temporalio.bridge.proto.activity_result import ActivityResolution
from temporalio.bridge.proto.workflow_activation import WorkflowActivation, WorkflowActivationJob
from temporalio.bridge.proto.workflow_commands import WorkflowCommand
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.workflow import ActivityCancellationType

from coterie.activities.contracts import (
    CALL_FUNCTION,
    RUN_AGENT,
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.workflows.core.messages import TeamInput
from tests.support.simulation.run_parts import CONVERTER, FAILURES, OpenCall, Part, failure_text

_MAX_TASKS = 2_000
"""Workflow tasks after which a run counts as lost in a loop."""
_STOP_SECONDS = 0.01
"""What a tool function takes to stop when it is cancelled."""


class Task(NamedTuple):
    """A workflow task in which the server may suggest to continue as new."""

    number: int
    """In the whole run, from 1."""
    in_part: int
    """In its history, from 1."""
    part: int
    """The number of its history, from 1."""


class Message(NamedTuple):
    """What a person or a program sends to the run."""

    at: float
    """Seconds after the start."""
    kind: str
    """`signal`, `update` or `cancel`."""
    name: str = ""
    payload: JsonValue = None


class Effect(NamedTuple):
    """A call that the run made."""

    at: float
    what: str
    id: str


Answer = Callable[
    [AgentRequest | FunctionRequest], tuple[float, AgentResponse | FunctionResult | Exception]
]
"""Returns how many seconds a call takes, and its answer."""


def never(task: Task) -> bool:
    """Never suggest to continue as new."""
    return False


@dataclass
class Lived:
    """What a run did, over all its histories."""

    effects: list[Effect] = field(default_factory=list[Effect])
    taken_back: list[Effect] = field(default_factory=list[Effect])
    """Calls that the run cancelled, with the time at which it did."""
    replies: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """What each update came to."""
    seconds: float = 0.0
    result: JsonValue = None
    failure: str = ""
    trail: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    open_at_end: list[str] = field(default_factory=list[str])
    """Timers and calls that were open when the run ended, or continued as new."""
    tasks: list[int] = field(default_factory=list[int])
    """The workflow tasks of each history."""
    timers: list[tuple[float, float, str]] = field(default_factory=list[tuple[float, float, str]])
    """Each timer: when it began, its seconds, what for."""


class SimulatedServer:
    """Runs one plan to its end."""

    def __init__(
        self,
        answer: Answer,
        messages: Sequence[Message] = (),
        suggests: Callable[[Task], bool] = never,
        *,
        earlier_events: int = 0,
    ) -> None:
        """Take what is outside of the run.

        Args:
            answer: The models and the tool functions.
            messages: What people send, and when.
            suggests: In which workflow tasks the server suggests to continue as new.
            earlier_events: How many events each history has more than its run could know.
        """
        self._answer = answer
        self._suggests = suggests
        self._earlier = earlier_events
        self._order = count()
        self._due: list[tuple[float, int, Part | None, Any]] = []  # when, order, where, what
        self._now = 0.0
        self._tasks = 0
        self._lived = Lived()
        for message in messages:
            self._later(message.at, None, message)

    def run(self, plan: Plan, context: Json | None = None, execution: str = "first") -> Lived:
        """Run the plan to its end in an execution of that id, and return what it did."""
        given = CONVERTER.to_payload(TeamInput(plan=plan, context=context or {}))
        part, lived = Part(given, None, self._now, execution), self._lived
        jobs = [part.first_job]
        while True:
            self._task(part, jobs)
            if part.ended is None:
                jobs = self._next_jobs(part)
                continue
            self._close(part)
            if not part.ended.HasField("continue_as_new_workflow_execution"):
                break
            following = part.ended.continue_as_new_workflow_execution.arguments[0]
            part = Part(following, part.run_id, self._now, f"{part.run_id}+")
            jobs = [part.first_job]
        lived.seconds, lived.trail = self._now, part.trail()
        if part.ended.HasField("complete_workflow_execution"):
            done = part.ended.complete_workflow_execution.result
            lived.result = cast("JsonValue", CONVERTER.from_payload(done))
        else:
            lived.failure = failure_text(part.ended)
        return lived

    def _close(self, part: Part) -> None:
        lived = self._lived
        lived.tasks.append(part.tasks)
        lived.open_at_end += [f"timer {what}" for what in part.timers.values()]
        lived.open_at_end += [f"call {call.id}" for call in part.calls.values()]

    def _later(self, at: float, part: Part | None, what: Any) -> None:
        heapq.heappush(self._due, (round(at, 6), next(self._order), part, what))

    def _next_jobs(self, part: Part) -> list[WorkflowActivationJob]:
        """Go on to the next moment that brings something, and return all that it brings."""
        jobs: list[WorkflowActivationJob] = []
        while self._due and (not jobs or self._due[0][0] == self._now):
            at, _, belongs_to, what = heapq.heappop(self._due)
            if belongs_to in (None, part):
                job = self._job(part, what)
                if job is not None:
                    self._now = at
                    jobs.append(job)
        assert jobs, f"the run waits for ever: {[*part.timers.values()]}"
        return jobs

    def _job(self, part: Part, what: Any) -> WorkflowActivationJob | None:
        match what:
            case Message():
                id = f"{what.name} {what.at}"
                return part.message_job(what.kind, what.name, what.payload, id)
            case int() if what in part.timers:
                part.events += 1
                del part.timers[what]
                job = WorkflowActivationJob()
                job.fire_timer.seq = what
                return job
            case (int() as seq, ActivityResolution() as resolution) if seq in part.calls:
                part.events += 2
                return _resolved(seq, resolution, part.calls.pop(seq))
            case _:
                return None  # cancelled meanwhile

    def _task(self, part: Part, jobs: list[WorkflowActivationJob]) -> None:
        """Run one workflow task, with the activations that core adds to it by itself."""
        self._tasks += 1
        assert self._tasks < _MAX_TASKS, "the run goes round in a circle"
        part.tasks += 1
        part.events += 2
        suggested = self._suggests(Task(self._tasks, part.tasks, len(self._lived.tasks) + 1))
        while jobs and part.ended is None:
            act = WorkflowActivation(
                run_id=part.run_id,
                history_length=part.events + self._earlier,
                history_size_bytes=100 * part.events,
                continue_as_new_suggested=suggested,
                jobs=jobs,
            )
            act.timestamp.FromNanoseconds(part.nanoseconds(self._now))
            completion = part.activate(act)
            if completion.HasField("failed"):
                raise AssertionError(completion.failed.failure)
            jobs = []
            for command in completion.successful.commands:
                jobs += self._obey(part, command)
        part.events += 1

    def _obey(self, part: Part, command: WorkflowCommand) -> list[WorkflowActivationJob]:
        """Do what a run wants; return what core tells it at once."""
        part.events += 1
        match command.WhichOneof("variant"):
            case "start_timer":
                timer = command.start_timer
                seconds = timer.start_to_fire_timeout.ToTimedelta().total_seconds()
                what = str(CONVERTER.from_payload(command.user_metadata.summary, str))
                part.timers[timer.seq] = what
                self._lived.timers.append((self._now, seconds, what))
                self._later(self._now + seconds, part, timer.seq)
            case "cancel_timer":
                part.timers.pop(command.cancel_timer.seq, None)
            case "schedule_activity":
                self._call(part, command.schedule_activity, is_local=False)
            case "schedule_local_activity":
                return self._call(part, command.schedule_local_activity, is_local=True)
            case "request_cancel_activity":
                return self._cancel(part, command.request_cancel_activity.seq)
            case "update_response":
                self._reply(command.update_response)
            case "upsert_workflow_search_attributes" | "set_patch_marker" | None:
                pass
            case "modify_workflow_properties":
                pass
            case _:
                part.ended = command
        return []

    def _call(self, part: Part, asked: Any, *, is_local: bool) -> list[WorkflowActivationJob]:
        kinds: dict[str, type[Any]] = {RUN_AGENT: AgentRequest, CALL_FUNCTION: FunctionRequest}
        kind = kinds[asked.activity_type]
        request = CONVERTER.from_payload(asked.arguments[0], kind)
        what = request.task if isinstance(request, AgentRequest) else request.skill
        self._lived.effects.append(Effect(self._now, what, asked.activity_id))
        seconds, answer = self._answer(request)
        call = OpenCall(asked.activity_id, asked.cancellation_type, is_local, self._tasks)
        if is_local:
            return [_resolved(asked.seq, _resolution(answer, call), call)]
        part.calls[asked.seq] = call
        self._later(self._now + seconds, part, (asked.seq, _resolution(answer, call)))
        return []

    def _cancel(self, part: Part, seq: int) -> list[WorkflowActivationJob]:
        call = part.calls.get(seq)
        if call is None:
            return []
        if call.task == self._tasks:  # core sends neither command
            self._lived.effects = [one for one in self._lived.effects if one.id != call.id]
        self._lived.taken_back.append(Effect(self._now, "cancel", call.id))
        stopped = _resolution(CancelledError("cancelled"), call)
        waits = call.cancellation == ActivityCancellationType.WAIT_CANCELLATION_COMPLETED
        if waits and call.task != self._tasks:
            self._later(self._now + _STOP_SECONDS, part, (seq, stopped))
            return []
        return [_resolved(seq, stopped, part.calls.pop(seq))]

    def _reply(self, response: Any) -> None:
        id = response.protocol_instance_id
        if response.HasField("completed"):
            self._lived.replies[id] = cast("JsonValue", CONVERTER.from_payload(response.completed))
        elif response.HasField("rejected"):
            self._lived.replies[id] = response.rejected.message


def _resolution(
    answer: AgentResponse | FunctionResult | BaseException, call: OpenCall
) -> ActivityResolution:
    resolution = ActivityResolution()
    match answer:
        case CancelledError():
            FAILURES.to_failure(call.error(answer), CONVERTER, resolution.cancelled.failure)
        case ApplicationError():
            FAILURES.to_failure(call.error(answer), CONVERTER, resolution.failed.failure)
        case _:
            resolution.completed.result.CopyFrom(CONVERTER.to_payload(answer))
    return resolution


def _resolved(seq: int, resolution: ActivityResolution, call: OpenCall) -> WorkflowActivationJob:
    job = WorkflowActivationJob()
    job.resolve_activity.seq = seq
    job.resolve_activity.is_local = call.is_local
    job.resolve_activity.result.CopyFrom(resolution)
    return job
