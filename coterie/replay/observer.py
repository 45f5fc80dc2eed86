"""A recorded run, brought through this code again while somebody looks on.

Unsandboxed: nothing is decided here that anybody acts on, and what the workflow knows has to
come out.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
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

from coterie.runtime.activation_order import activate_in_order
from coterie.storage.wire import data_converter
from coterie.version import own_version
from dsl.errors import RunRefused
from workflows.core.encoding import plain
from workflows.core.requests import Pending
from workflows.team import TeamWorkflow

_START_SECONDS, _EVENT_SECONDS = 60.0, 0.05
"""Far more than a replay takes on a busy machine."""


@dataclass(frozen=True, slots=True)
class Heard:
    """Something that a person said to the run, and what it changed of what waits."""

    name: str
    """Of the update or the signal."""
    said: JsonValue
    at: datetime
    """When the run took it, on its own clock."""
    changed: tuple[Pending, ...]
    """The requests, as they were before, that were decided, counted for or edited by it."""


class ReplayObserver(Interceptor):
    """Looks on; what it makes of what it sees is for those who extend it."""

    def __init__(self) -> None:
        self.run: TeamWorkflow | None = None
        """The workflow itself, from its begin on."""
        self.queue = ""
        """Its own task queue, as it knows it."""

    def met(self, run: TeamWorkflow) -> None:
        """The run is about to begin, or to go on as new."""

    def before(self, act: WorkflowActivation) -> None:
        """The run is about to be told something; a `remove_from_cache` is the last that it is."""

    def heard(self, message: Heard) -> None:
        """The run has taken what somebody said; of a refused signal nothing is changed."""

    def after(self, completion: WorkflowActivationCompletion) -> None:
        """The run has said what it wants done."""

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor]:
        """A class that knows this object, which works since there is no sandbox."""
        onlooker = self

        class Inbound(WorkflowInboundInterceptor):
            async def execute_workflow(self, input: ExecuteWorkflowInput) -> object:
                onlooker.run = cast("TeamWorkflow", workflow.instance())
                onlooker.met(onlooker.run)
                return await super().execute_workflow(input)

            async def handle_signal(self, input: HandleSignalInput) -> None:
                before = await _waiting()
                await super().handle_signal(input)
                onlooker.heard(_heard(input.signal, input.args, before))

            async def handle_update_handler(self, input: HandleUpdateInput) -> object:
                before = await _waiting()
                answer: object = await super().handle_update_handler(input)
                onlooker.heard(_heard(input.update, input.args, before))
                return answer

        return Inbound


async def _waiting() -> Mapping[str, Pending]:
    """What waits for people when the run is about to take a message."""
    run = cast("TeamWorkflow", workflow.instance())
    await run.listening()
    return dict(run.state.pending)


def _heard(name: str, args: Sequence[Any], before: Mapping[str, Pending]) -> Heard:
    now = cast("TeamWorkflow", workflow.instance()).state.pending
    changed = tuple(was for id, was in before.items() if now.get(id) is not was)
    return Heard(name, _said(args), workflow.now(), changed)


def _said(args: Sequence[RawValue]) -> JsonValue:
    """What the message brings; of one that is refused for it, nothing."""
    try:
        return plain(args)
    except RunRefused:
        return None


async def observed(history: WorkflowHistory, onlooker: ReplayObserver) -> Exception | None:
    """Replay a history before the onlooker; what Temporal's own replayer has to say against it."""
    replayer = Replayer(
        workflows=[TeamWorkflow],
        workflow_runner=_WatchedRunner(onlooker),
        data_converter=data_converter,
        interceptors=[onlooker],
        build_id=own_version(),
    )
    limit = _START_SECONDS + _EVENT_SECONDS * len(history.events)
    try:
        async with asyncio.timeout(limit):
            outcome = await replayer.replay_workflow(history, raise_on_replay_failure=False)
    except TimeoutError:  # of some histories it gives up without a word
        return RuntimeError("the engine cannot go through these events: were they changed?")
    return outcome.replay_failure


class _WatchedRunner(UnsandboxedWorkflowRunner):
    """Has each workflow watched."""

    def __init__(self, onlooker: ReplayObserver) -> None:
        self._onlooker = onlooker

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """The workflow, watched."""
        self._onlooker.queue = det.info.task_queue
        return cast("WorkflowInstance", _Watched(super().create_instance(det), self._onlooker))


class _Watched:
    """A workflow instance that is looked at before and after whatever it does.

    To go, it is cancelled from within, after which it waits for nobody any more: so what it
    knows is looked at before.
    """

    def __init__(self, instance: WorkflowInstance, onlooker: ReplayObserver) -> None:
        self._instance = instance
        self._onlooker = onlooker

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        """Hand the activation on."""
        self._onlooker.before(act)
        completion = activate_in_order(self._instance.activate, act)
        self._onlooker.after(completion)
        return completion

    def __getattr__(self, name: str) -> object:
        return getattr(self._instance, name)


def is_the_last(act: WorkflowActivation) -> bool:
    """Whether the run is told to go out of memory."""
    return any(job.HasField("remove_from_cache") for job in act.jobs)
