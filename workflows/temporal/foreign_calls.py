"""Calls of what already runs on Temporal: activities, workflows, Nexus operations.

Each is a command of the run itself, with a time limit for all attempts together, and answers with
an undecoded payload.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, assert_never

from temporalio import workflow
from temporalio.common import RawValue, RetryPolicy, WorkflowIDReusePolicy
from temporalio.workflow import (
    ActivityCancellationType,
    ChildWorkflowCancellationType,
    NexusOperationCancellationType,
    ParentClosePolicy,
)

from coterie.activities.contracts import FailureType
from coterie.dsl.apis.temporal_inputs import InputRefused, arguments_of, workflow_id
from coterie.dsl.model.temporal_calls import (
    ActivityTarget,
    ChildTarget,
    NexusTarget,
)
from coterie.dsl.sizes import json_size, too_large
from coterie.dsl.tool_loop.call_checks import argument_problems
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.memo_keys import CALL, CALL_HEADER
from coterie.workflows.core.scope import Call, CallFailed, TemporalRequest

_TOO_LARGE = ["PayloadsTooLarge"]
"""Repeating a call whose result is too large repeats its work."""

_MAX_PAUSE = 60.0
"""Seconds between two attempts, at most."""


@dataclass(frozen=True)
class ForeignCall:
    """One call that is ready to be made."""

    request: TemporalRequest
    call: Call
    given: Json
    arguments: Sequence[JsonValue]
    id: str
    """Of a workflow to start."""
    size: int
    """Bytes of what is sent."""

    @classmethod
    def of(cls, request: TemporalRequest, call: Call, run_id: str) -> "ForeignCall":
        """Check the input of a call, and arrange it.

        Raises:
            CallFailed: It does not match its schema, or cannot be sent.
        """
        given, target = request.given, request.target
        if not isinstance(given, dict):
            raise _refusal("its input is not a mapping", call)
        problems = argument_problems(given, target.input_schema)
        if problems:
            raise _refusal("; ".join(problems), call)
        arguments = arguments_of(target, given)
        problem = too_large([*arguments], "the input")
        if problem is not None:
            raise CallFailed(FailureType.REQUEST_TOO_LARGE, f"{call.summary}: {problem}")
        id = ""
        if isinstance(target, ChildTarget):
            try:
                id = workflow_id(target.id, given) or f"{run_id}/{call.id}"
            except InputRefused as refused:
                raise _refusal(str(refused), call) from None
        return cls(request, call, given, arguments, id, json_size([*arguments]))

    def make(self) -> Coroutine[Any, Any, RawValue | Json | None]:
        """Return what makes the call, and gives its raw result or a value of ours."""
        match self.request.target:
            case ActivityTarget() as target:
                return self._activity(target)
            case ChildTarget() as target:
                return self._child(target)
            case NexusTarget() as target:
                return self._nexus(target)
            case _:
                assert_never(self.request.target)

    async def _activity(self, target: ActivityTarget) -> RawValue | Json | None:
        options = self.call.options
        attempts = 1 if options.effect == "once" else options.retries + 1
        pauses = _MAX_PAUSE * (attempts - 1)
        whole = target.schedule_to_start + options.timeout * attempts + pauses
        waits = target.heartbeat is not None  # else it would never hear that it is cancelled
        return await workflow.execute_activity(
            target.type,
            args=[*self.arguments],
            task_queue=target.task_queue,
            result_type=RawValue,
            activity_id=self.call.id,
            summary=self.call.summary,
            schedule_to_close_timeout=timedelta(seconds=whole),
            schedule_to_start_timeout=timedelta(seconds=target.schedule_to_start),
            start_to_close_timeout=timedelta(seconds=options.timeout),
            heartbeat_timeout=None
            if target.heartbeat is None
            else timedelta(seconds=target.heartbeat),
            retry_policy=self._retry_policy(attempts),
            cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED
            if waits
            else ActivityCancellationType.TRY_CANCEL,
        )

    async def _child(self, target: ChildTarget) -> RawValue | Json | None:
        options = self.call.options
        attempts = 1 if options.effect == "once" else options.retries + 1
        is_named = bool(target.id) and options.effect != "read"
        handle = await workflow.start_child_workflow(
            target.type,
            args=[*self.arguments],
            id=self.id,
            task_queue=target.task_queue,
            result_type=RawValue,
            execution_timeout=timedelta(seconds=options.timeout),
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY
            if is_named
            else WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            retry_policy=self._retry_policy(attempts) if attempts > 1 else None,
            cancellation_type=ChildWorkflowCancellationType.WAIT_CANCELLATION_REQUESTED,
            parent_close_policy=ParentClosePolicy.REQUEST_CANCEL
            if target.wait
            else ParentClosePolicy.ABANDON,
            static_summary=self.call.summary,
            memo={CALL: self.call.id},
        )
        if target.wait:
            return await handle
        handle.add_done_callback(_forget)
        return {"workflow_id": handle.id, "run_id": handle.first_execution_run_id or ""}

    async def _nexus(self, target: NexusTarget) -> RawValue | Json | None:
        client = workflow.create_nexus_client(service=target.service, endpoint=target.endpoint)
        return await client.execute_operation(
            target.operation,
            self.arguments[0],
            output_type=RawValue,
            schedule_to_close_timeout=timedelta(seconds=self.call.options.timeout),
            cancellation_type=NexusOperationCancellationType.WAIT_REQUESTED,
            summary=self.call.summary,
            headers={CALL_HEADER: self.call.id},
        )

    def _retry_policy(self, attempts: int) -> RetryPolicy:
        return RetryPolicy(
            initial_interval=timedelta(seconds=self.call.options.interval),
            maximum_interval=timedelta(seconds=_MAX_PAUSE),
            maximum_attempts=attempts,
            non_retryable_error_types=_TOO_LARGE,
        )


def _forget(task: "asyncio.Task[Any]") -> None:
    """Take the outcome of a workflow that nobody waits for."""
    if not task.cancelled():
        task.exception()


def _refusal(why: str, call: Call) -> CallFailed:
    return CallFailed(FailureType.FUNCTION_REFUSED, f"{call.summary}: {why}")
