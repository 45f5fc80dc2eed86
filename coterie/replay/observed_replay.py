"""Replay a recorded run while an observer watches.

The replay runs unsandboxed: nothing acts on its decisions, and the observer needs the workflow's
state.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from pydantic import JsonValue
from temporalio import workflow
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.client import WorkflowHistory
from temporalio.common import RawValue
from temporalio.worker import (
    ExecuteWorkflowInput,
    HandleSignalInput,
    HandleUpdateInput,
    Interceptor,
    Replayer,
    UnsandboxedWorkflowRunner,
    WorkflowInboundInterceptor,
    WorkflowInstance,
    WorkflowInstanceDetails,
    WorkflowInterceptorClassInput,
)

from coterie.dsl.errors import RunRefused
from coterie.runtime.activation_order import OrderedActivations
from coterie.runtime.task_limit import LIMIT, MAX_SECONDS
from coterie.storage.wire import data_converter
from coterie.version import own_version
from coterie.workflows.core.decoding import plain
from coterie.workflows.core.requests import Pending
from coterie.workflows.team import TeamWorkflow

_START_SECONDS, _EVENT_SECONDS = 60.0, 0.05
"""Far more than a replay takes on a busy machine."""


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """A person's message to the run, and the requests that it changed."""

    name: str
    """Name of the update or the signal."""
    said: JsonValue
    at: datetime
    """When the run accepted it, by its own clock."""
    changed: tuple[Pending, ...]
    """The requests, in their previous state, that it decided, counted for or edited."""
    answer: str = ""
    """What an update returned, if it is a text."""
    since: datetime | None = None
    """When the step that `answer` names began, if it is in progress."""


class ReplayObserver(Interceptor):
    """Watches a replay; subclasses decide what to record."""

    def __init__(self) -> None:
        self.run: TeamWorkflow | None = None
        """The workflow itself, once it has started."""
        self.queue = ""
        """Its task queue."""

    def run_started(self, run: TeamWorkflow) -> None:
        """Handle the start of a run, or of its next part."""

    def before(self, act: WorkflowActivation) -> None:
        """Handle the time before an activation; `remove_from_cache` is the last one."""

    def received(self, message: ReceivedMessage) -> None:
        """Handle a message that the run has accepted; a refused signal changes nothing."""

    def after(self, completion: WorkflowActivationCompletion) -> None:
        """Handle the commands of the run."""

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor]:
        """Return a class that refers to this object, which works without a sandbox."""
        observer = self

        class Inbound(WorkflowInboundInterceptor):
            async def execute_workflow(self, input: ExecuteWorkflowInput) -> object:
                observer.run = cast("TeamWorkflow", workflow.instance())
                observer.run_started(observer.run)
                return await super().execute_workflow(input)

            async def handle_signal(self, input: HandleSignalInput) -> None:
                before = await _waiting()
                await super().handle_signal(input)
                observer.received(_received_message(input.signal, input.args, before))

            async def handle_update_handler(self, input: HandleUpdateInput) -> object:
                before = await _waiting()
                answer: object = await super().handle_update_handler(input)
                observer.received(_received_message(input.update, input.args, before, answer))
                return answer

        return Inbound


async def _waiting() -> Mapping[str, Pending]:
    """Return the requests that are pending when the run is about to accept a message."""
    run = cast("TeamWorkflow", workflow.instance())
    await run.listening()
    return dict(run.state.pending)


def _received_message(
    name: str, args: Sequence[Any], before: Mapping[str, Pending], answer: object = None
) -> ReceivedMessage:
    state = cast("TeamWorkflow", workflow.instance()).state
    changes = tuple(was for id, was in before.items() if state.pending.get(id) is not was)
    text = answer if isinstance(answer, str) else ""
    began = state.doing.get(text)
    since = None if began is None else datetime.fromtimestamp(began, UTC)
    return ReceivedMessage(name, _message_content(args), workflow.now(), changes, text, since)


def _message_content(args: Sequence[RawValue]) -> JsonValue:
    """Return the content of the message; nothing for one that is refused for its content."""
    try:
        return plain(args)
    except RunRefused:
        return None


def time_limit(events: int) -> float:
    """Return the seconds after which a replay of so many events counts as stuck."""
    return _START_SECONDS + _EVENT_SECONDS * events


async def observed(history: WorkflowHistory, observer: ReplayObserver) -> Exception | None:
    """Replay a history with an observer; return the error of Temporal's own replayer, if any."""
    replayer = Replayer(
        workflows=[TeamWorkflow],
        workflow_runner=_WatchedRunner(observer),
        data_converter=data_converter,
        interceptors=[observer],
        build_id=own_version(),
    )
    try:
        async with asyncio.timeout(time_limit(len(history.events))):
            outcome = await replayer.replay_workflow(history, raise_on_replay_failure=False)
    except TimeoutError:  # for some histories it gives up without an error
        return RuntimeError("the events cannot be replayed: were they changed?")
    return outcome.replay_failure


class _WatchedRunner(UnsandboxedWorkflowRunner):
    """Wraps each workflow for the observer; its tasks have the limit of a worker's."""

    max_task_seconds = MAX_SECONDS
    """Of a workflow task by the clock: the SDK reads it (`coterie/runtime/task_limit.py`)."""

    def __init__(self, observer: ReplayObserver) -> None:
        self._observer = observer

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """Create the workflow, wrapped."""
        self._observer.queue = det.info.task_queue
        return cast("WorkflowInstance", _Watched(super().create_instance(det), self._observer))


class _Watched:
    """A workflow instance that is observed before and after each activation.

    Eviction cancels it from within, after which its state is lost: so observe it before that.
    """

    def __init__(self, instance: WorkflowInstance, observer: ReplayObserver) -> None:
        self._instance = instance
        self._ordered = OrderedActivations(instance.activate)
        self._observer = observer

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        """Pass the activation on."""
        self._observer.before(act)
        completion = LIMIT.run(lambda: self._ordered.activate(act))
        self._observer.after(completion)
        return completion

    def __getattr__(self, name: str) -> object:
        return getattr(self._instance, name)


def is_the_last(act: WorkflowActivation) -> bool:
    """Return whether the activation evicts the run from memory."""
    return any(job.HasField("remove_from_cache") for job in act.jobs)
