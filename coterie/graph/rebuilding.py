"""A run's plan, trail and state, out of its history alone: no worker has to answer.

The history goes through the interpreter once more, with what was recorded for its answers. Where
this code decides otherwise than the code that ran (another version), there is nothing to rebuild.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from pydantic import BaseModel, ValidationError
from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.api.history.v1 import HistoryEvent
from temporalio.bridge.proto.workflow_activation import WorkflowActivation
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.client import WorkflowHistory
from temporalio.worker import (
    ExecuteWorkflowInput,
    Interceptor,
    Replayer,
    UnsandboxedWorkflowRunner,
    WorkflowInboundInterceptor,
    WorkflowInstance,
    WorkflowInstanceDetails,
    WorkflowInterceptorClassInput,
)

from activities.contracts import CompileResult
from coterie.decided import Visit, Witness, WitnessedState
from coterie.wire import data_converter
from dsl.plan import Plan
from workflows.messages import RunStatus, TeamInput, TrailEntry
from workflows.team import TeamWorkflow


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A run as its own workflow knows it."""

    plan: Plan
    trail: tuple[TrailEntry, ...]
    """All entries, and those that the run brought along when it continued as new."""
    status: RunStatus
    visits: Mapping[tuple[str, int], Visit]
    """`{(team, visit): everything that it decided}`."""


async def rebuilt(history: WorkflowHistory) -> Rebuilt | None:
    """The run behind a history; None when this code cannot follow it.

    Unsandboxed: nothing is decided here that anybody acts on.
    """
    witness = _Onlooker()
    replayer = Replayer(
        workflows=[TeamWorkflow],
        workflow_runner=_WatchedRunner(witness),
        data_converter=data_converter,
        interceptors=[witness],
    )
    outcome = await replayer.replay_workflow(history, raise_on_replay_failure=False)
    return None if outcome.replay_failure is not None else witness.seen


def recorded_plan(history: WorkflowHistory) -> Plan | None:
    """The plan as the run was given it, or as its worker compiled it; None when neither is there.

    Reads the start's input and the record of the compiling activity; replays nothing.
    """
    for payload in _plan_payloads(history):
        for model in (TeamInput, CompileResult):
            plan = _plan_in(payload, model)
            if plan is not None:
                return plan
    return None


def _plan_payloads(history: WorkflowHistory) -> Iterator[Payload]:
    for event in history.events:
        yield from event.workflow_execution_started_event_attributes.input.payloads
        yield from _marked(event)


def _marked(event: HistoryEvent) -> Iterator[Payload]:
    for payloads in event.marker_recorded_event_attributes.details.values():
        yield from payloads.payloads


def _plan_in(payload: Payload, model: type[BaseModel]) -> Plan | None:
    try:
        value = data_converter.payload_converter.from_payload(payload, model)
    except (ValidationError, ValueError, RuntimeError):
        return None
    plan = getattr(value, "plan", None)
    return plan if isinstance(plan, Plan) else None


class _Onlooker(Interceptor):
    """Looks at the replayed workflow before it is put out of memory."""

    def __init__(self) -> None:
        self.seen: Rebuilt | None = None
        self._run: TeamWorkflow | None = None
        self._witness: Witness | None = None

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor]:
        """A class that knows this object, which works since there is no sandbox."""
        onlooker = self

        class Inbound(WorkflowInboundInterceptor):
            async def execute_workflow(self, input: ExecuteWorkflowInput) -> object:
                onlooker.meet(cast("TeamWorkflow", workflow.instance()))
                return await super().execute_workflow(input)

        return Inbound

    def meet(self, run: TeamWorkflow) -> None:
        """Have the run's every entry witnessed from its beginning on."""
        self._run = run
        self._witness = Witness(workflow.info().workflow_id, lambda: run.plan)
        run.state = WitnessedState.of(run.state, self._witness)

    def look(self) -> None:
        """Take down what the run knows."""
        run, witness = self._run, self._witness
        if run is not None and witness is not None and run.plan is not None:
            self.seen = Rebuilt(run.plan, tuple(witness.trail), run.status(), witness.visits)


class _WatchedRunner(UnsandboxedWorkflowRunner):
    """Has each workflow watched."""

    def __init__(self, witness: _Onlooker) -> None:
        self._witness = witness

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """The workflow, watched."""
        return cast("WorkflowInstance", _Watched(super().create_instance(det), self._witness))


class _Watched:
    """A workflow instance that is looked at just before it goes.

    To go, it is cancelled from within, after which it waits for nobody any more.
    """

    def __init__(self, instance: WorkflowInstance, witness: _Onlooker) -> None:
        self._instance = instance
        self._witness = witness

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        """Hand the activation on."""
        if any(job.HasField("remove_from_cache") for job in act.jobs):
            self._witness.look()
        return self._instance.activate(act)

    def __getattr__(self, name: str) -> object:
        return getattr(self._instance, name)
