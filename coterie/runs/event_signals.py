"""Signal a run once for each event, however often the event is delivered.

The server keeps the request ids of the signals of an execution, and drops a signal whose id it has.
The SDK gives each call another id, so these requests are made here.
"""

from collections.abc import Sequence
from hashlib import sha256

from temporalio.api.common.v1 import Header, Memo, Payloads, WorkflowExecution, WorkflowType
from temporalio.api.enums.v1 import WorkflowIdReusePolicy
from temporalio.api.sdk.v1 import UserMetadata
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    SignalWithStartWorkflowExecutionRequest,
    SignalWorkflowExecutionRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from coterie.dsl.sizes import MAX_SIGNALLED, MAX_VALUE_SIZE, too_large
from coterie.dsl.values import Frozen, JsonValue
from coterie.failures import CommandError
from coterie.runs.call_errors import call_error, has_ended
from coterie.runs.new_runs import CONTEXT_TOO_LARGE, check_id
from coterie.server.message_senders import with_sender
from coterie.storage.histories import WORKFLOW
from coterie.workflows.core.memo_keys import STARTED
from coterie.workflows.core.messages import TeamInput


class EventSignal(Frozen):
    """A named signal for one event."""

    name: str
    payload: JsonValue
    event: str
    """What names the event; a second signal of the same event is dropped."""

    @property
    def request_id(self) -> str:
        """The id by which the server knows the signal again."""
        return sha256(f"{self.name}\n{self.event}".encode()).hexdigest()


async def signal_once(client: Client, id: str, signal: EventSignal) -> None:
    """Signal an open run.

    Raises:
        CommandError: The payload is too large, the run does not exist or has ended, or the server
            does not answer.
    """
    request = SignalWorkflowExecutionRequest(
        namespace=client.namespace,
        workflow_execution=WorkflowExecution(workflow_id=id),
        signal_name=signal.name,
        identity=client.identity,
        request_id=signal.request_id,
        input=await _payloads(client, [signal.payload], signal),
        header=Header(fields=with_sender({})),
    )
    try:
        await client.workflow_service.signal_workflow_execution(request, retry=True)
    except RPCError as error:
        raise call_error(id, error) from None


async def start_and_signal_once(
    client: Client, id: str, given: TeamInput, signal: EventSignal, *, task_queue: str, team: str
) -> bool:
    """Start a run and signal it in one step; signal it alone if it is open.

    Returns:
        Whether it was started.

    Raises:
        CommandError: The id is unusable, something is too large, the run has ended, or the server
            does not answer.
    """
    check_id(id)
    start_input = await client.data_converter.encode([given])
    if sum(len(payload.data) for payload in start_input) > MAX_VALUE_SIZE:
        raise CommandError(CONTEXT_TOO_LARGE)
    (summary,) = await client.data_converter.encode([team])
    request = SignalWithStartWorkflowExecutionRequest(
        namespace=client.namespace,
        workflow_id=id,
        workflow_type=WorkflowType(name=WORKFLOW),
        task_queue=TaskQueue(name=task_queue),
        input=Payloads(payloads=start_input),
        identity=client.identity,
        request_id=signal.request_id,
        workflow_id_reuse_policy=WorkflowIdReusePolicy.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
        signal_name=signal.name,
        signal_input=await _payloads(client, [signal.payload], signal),
        memo=Memo(fields={STARTED: summary}),
        user_metadata=UserMetadata(summary=summary),
        header=Header(fields=with_sender({})),
    )
    service = client.workflow_service
    try:
        answer = await service.signal_with_start_workflow_execution(request, retry=True)
    except RPCError as error:
        if error.status == RPCStatusCode.ALREADY_EXISTS:
            raise has_ended(id) from None
        raise call_error(id, error) from None
    return answer.started


async def _payloads(client: Client, values: Sequence[JsonValue], signal: EventSignal) -> Payloads:
    large = too_large([*values], f"the payload of the signal {signal.name!r}", MAX_SIGNALLED)
    if large is not None:
        raise CommandError(large)
    return Payloads(payloads=await client.data_converter.encode(values))
