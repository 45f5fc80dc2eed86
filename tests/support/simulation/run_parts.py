"""One history of a run in this process, as core and the server keep it."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from pydantic import JsonValue
from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.bridge.proto.workflow_activation import WorkflowActivation, WorkflowActivationJob
from temporalio.bridge.proto.workflow_commands import WorkflowCommand
from temporalio.bridge.proto.workflow_completion import WorkflowActivationCompletion
from temporalio.common import Priority, TypedSearchAttributes
from temporalio.exceptions import ActivityError, RetryState
from temporalio.worker import UnsandboxedWorkflowRunner, WorkflowInstance, WorkflowInstanceDetails
from temporalio.workflow import Info

from coterie.runtime.workflow_sandbox import ContextFreeRunner
from coterie.storage.wire import data_converter
from coterie.workflows.core.views import TrailPage
from coterie.workflows.team import TeamWorkflow

CONVERTER = data_converter.payload_converter
FAILURES = data_converter.failure_converter
_RUNNER = ContextFreeRunner(UnsandboxedWorkflowRunner())
_DEFINITION: Any = workflow._Definition.must_from_class(TeamWorkflow)  # pyright: ignore
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


class OpenCall(NamedTuple):
    """An activity that has not ended."""

    id: str
    cancellation: int
    is_local: bool
    task: int
    """The number of the workflow task that began it."""

    def error(self, cause: BaseException) -> ActivityError:
        """Return the error of the activity, as the server reports it."""
        error = ActivityError(
            "it failed",
            scheduled_event_id=1,
            started_event_id=2,
            identity="",
            activity_type="",
            activity_id=self.id,
            retry_state=RetryState.MAXIMUM_ATTEMPTS_REACHED,
        )
        error.__cause__ = cause
        return error


class Part:
    """One history: its workflow instance, and what is open in it."""

    def __init__(self, given: Payload, before: str | None, now: float, run_id: str) -> None:
        """Begin a history.

        Args:
            given: The input of the run.
            before: The run id of the history before.
            now: Seconds since the first one began.
            run_id: Its own run id.
        """
        self.run_id = run_id
        self.events = 1
        self.tasks = 0
        self.timers: dict[int, str] = {}
        self.calls: dict[int, OpenCall] = {}
        self.ended: WorkflowCommand | None = None
        """The command that ended it."""
        start = _BEGAN + timedelta(seconds=now)
        self.first_job = WorkflowActivationJob()
        init = self.first_job.initialize_workflow
        init.workflow_type, init.workflow_id = "TeamWorkflow", "test"
        init.arguments.append(given)
        init.start_time.FromDatetime(start)
        info = Info(
            attempt=1,
            continued_run_id=before,
            cron_schedule=None,
            execution_timeout=None,
            first_execution_run_id="first",
            headers={},
            namespace="default",
            original_execution_run_id=self.run_id,
            parent=None,
            root=None,
            raw_memo={},
            retry_policy=None,
            run_id=self.run_id,
            run_timeout=None,
            search_attributes={},
            start_time=start,
            workflow_start_time=start,
            task_queue="queue",
            task_timeout=timedelta(seconds=10),
            typed_search_attributes=TypedSearchAttributes.empty,
            workflow_id="test",
            workflow_type="TeamWorkflow",
            priority=Priority.default,
        )
        self._instance = asyncio.run(
            _instance(
                WorkflowInstanceDetails(
                    payload_converter_factory=lambda: CONVERTER,
                    failure_converter_class=data_converter.failure_converter_class,
                    interceptor_classes=[],
                    defn=_DEFINITION,
                    info=info,
                    randomness_seed=1,
                    extern_functions={},
                    disable_eager_activity_execution=False,
                    worker_level_failure_exception_types=[],
                    patch_activation_callback=None,
                    last_completion_result=Any,  # pyright: ignore[reportArgumentType]
                    last_failure=None,
                )
            )
        )

    def activate(self, act: WorkflowActivation) -> WorkflowActivationCompletion:
        """Let the run do what follows from an activation."""
        return self._instance.activate(act)

    @staticmethod
    def nanoseconds(now: float) -> int:
        """Return the time of a moment as the server gives it."""
        return int(_BEGAN.timestamp()) * 10**9 + round(now * 10**9)

    def message_job(
        self, kind: str, name: str, payload: JsonValue, id: str
    ) -> WorkflowActivationJob:
        """Return how core delivers a message; `id` is that of an update."""
        job = WorkflowActivationJob()
        match kind:
            case "signal":
                self.events += 1
                job.signal_workflow.signal_name = name
                job.signal_workflow.input.append(CONVERTER.to_payload(payload))
                job.signal_workflow.originating_event_id = self.events
            case "cancel":
                self.events += 1
                job.cancel_workflow.reason = name
            case _:
                job.do_update.id = job.do_update.protocol_instance_id = id
                job.do_update.name, job.do_update.run_validator = name, True
                job.do_update.meta.update_id = id
                job.do_update.input.append(CONVERTER.to_payload(payload))
        return job

    def trail(self) -> list[tuple[float, str]]:
        """Return what happened, with seconds since the run began."""
        act = WorkflowActivation(run_id=self.run_id, history_length=self.events)
        query = act.jobs.add().query_workflow
        query.query_id, query.query_type = "q", "events"
        (command,) = self._instance.activate(act).successful.commands
        answer = command.respond_to_query.succeeded.response
        page: TrailPage = CONVERTER.from_payload(answer, TrailPage)
        return [
            (
                round((datetime.fromisoformat(entry.at) - _BEGAN).total_seconds(), 3),
                f"{entry.kind} {entry.team}#{entry.visit} {entry.step} {entry.status} "
                f"{entry.because}",
            )
            for entry in page.entries
        ]


async def _instance(details: WorkflowInstanceDetails) -> WorkflowInstance:
    """Make an instance beside a running loop, as the SDK wants it."""
    return _RUNNER.create_instance(details)


def failure_text(ended: WorkflowCommand) -> str:
    """Return the failure that ended a run, or that it was cancelled."""
    if ended.HasField("fail_workflow_execution"):
        failure = ended.fail_workflow_execution.failure
        return f"{failure.application_failure_info.type}: {failure.message}"
    return ended.WhichOneof("variant") or ""
