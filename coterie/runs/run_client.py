"""Access runs as a client: query, decide, wait for the end.

Every failed request becomes one sentence: the run does not exist, no worker answers, no server.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from time import monotonic
from typing import Any, Protocol, TypeVar, cast
from uuid import uuid4

from pydantic import BaseModel
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import RequestCancelWorkflowExecutionRequest
from temporalio.client import (
    Client,
    WorkflowExecutionDescription,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowHistory,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.service import RPCError

from coterie.failures import CommandError
from coterie.runs.call_errors import (
    QueryRefused,
    UpdateName,
    call_error,
    check_sent,
    task_was_lost,
    update_error,
    waits_its_turn,
)
from coterie.runs.ends.end_facts import RunEnd, failed_end
from coterie.server.message_senders import current_sender
from coterie.storage.histories import WORKFLOW, whole
from coterie.workflows.core.messages import (
    AmendInput,
    DecideInput,
    PushInput,
    RedirectInput,
    RetryInput,
    SayInput,
    SignedInput,
    SkipInput,
    StateAsked,
)
from coterie.workflows.core.requests import NOT_YET, Decision, Pending, RequestView
from coterie.workflows.core.views import (
    CostReport,
    RunStatus,
    StateView,
    TeamResult,
    TrailEntry,
    TrailPage,
)
from coterie.workflows.signatures.statements import Authority

_ANSWER_SECONDS = timedelta(seconds=8)
"""Timeout of a query or a decision: a live worker answers in a fraction of it."""
_SERVED_ANSWER_SECONDS = timedelta(seconds=20)
"""The same where this process serves the run: a worker that was killed may hold a workflow task of
the run for its timeout of 10 s, and only then can another worker answer."""
_AGAIN_SECONDS = 0.2

T = TypeVar("T")


Signed = TypeVar("Signed", bound=SignedInput)


class MessageSigner(Protocol):
    """Signs messages to runs that take only signed ones."""

    @property
    def subject(self) -> str | None:
        """The person for whom it signs; None: the one whom a message names."""
        ...

    def sign(self, asked: Signed, authority: Authority, request: Pending | None) -> Signed:
        """Return a message with its proof; `request` is what a decision is about."""
        ...


async def _as_it_is(request: Pending) -> Pending:
    return request


class Run:
    """One run on a server."""

    def __init__(self, client: Client, id: str, *, served_here: bool = False) -> None:
        """Take the run.

        Args:
            client: Connected to its server.
            id: Its workflow id.
            served_here: Whether a worker of this process serves it.
        """
        self.id = id
        self._served_here = served_here
        self.complete: Callable[[Pending], Awaitable[Pending]] = _as_it_is
        """Adds to a request what only its files tell."""
        self.signer: MessageSigner | None = None
        """Signs what is sent to a run that takes only signed decisions."""
        self._client = client
        self.handle: WorkflowHandle[object, TeamResult] = client.get_workflow_handle(
            id, result_type=TeamResult
        )

    @property
    def answer_time(self) -> timedelta:
        """For how long an answer of the run is awaited."""
        return _SERVED_ANSWER_SECONDS if self._served_here else _ANSWER_SECONDS

    async def describe(self) -> WorkflowExecutionDescription:
        """Return the server's description of the run; needs no worker."""
        try:
            return await self.handle.describe(rpc_timeout=_ANSWER_SECONDS)
        except RPCError as error:
            raise call_error(self.id, error) from None

    async def is_being_cancelled(self) -> bool:
        """Return whether somebody has cancelled the run; needs no worker."""
        info = (await self.describe()).raw_description
        return info.workflow_extended_info.cancel_requested

    async def began(self, latest: WorkflowExecutionDescription) -> datetime:
        """Return the start time; for a run that continued as new, of its first part.

        Args:
            latest: The server's description of its latest part.
        """
        first = latest.raw_description.workflow_execution_info.first_run_id
        if first in ("", latest.run_id):
            return latest.start_time
        try:
            handle = self._client.get_workflow_handle(self.id, run_id=first)
            return (await handle.describe(rpc_timeout=_ANSWER_SECONDS)).start_time
        except RPCError:
            return latest.start_time  # the server has deleted the first part

    async def status(self) -> RunStatus:
        """Query the status."""
        return await self._query("status", RunStatus)

    async def cost(self) -> CostReport:
        """Query the usage."""
        return await self._query("cost", CostReport)

    async def pending(self) -> tuple[Pending, ...]:
        """Query the requests that wait for a person."""
        requests = await self._query("pending", list[Pending])
        return tuple([await self.complete(request) for request in requests])

    async def request(self, id: str) -> RequestView:
        """Query one request in full, pending or decided."""
        view = await self._query("request", RequestView, id)
        if view.pending is None:
            return view
        return view.model_copy(update={"pending": await self.complete(view.pending)})

    async def whole(self, request: Pending) -> Pending:
        """Return a request as it is, if the list has it shortened."""
        return (await self.request(request.id)).pending or request if request.cut else request

    async def trail(self, since: int = 0) -> list[TrailEntry]:
        """Query the trail after entry number `since`."""
        entries: list[TrailEntry] = []
        while True:
            page = await self.trail_page(since)
            entries += page.entries
            if not page.more:
                return entries
            since = page.entries[-1].number

    async def trail_page(self, since: int = 0) -> TrailPage:
        """Query the next entries of the trail after entry number `since`."""
        return await self._query("events", TrailPage, since)

    async def state(self, path: str, start: int = 0) -> StateView:
        """Query a part of what the run remembers, such as `context.goal`.

        Args:
            path: Of the part.
            start: The character, item or key at which the page starts.
        """
        return await self._query("state", StateView, StateAsked(path=path, start=start))

    async def decide(self, asked: DecideInput, *, update_id: str | None = None) -> Decision:
        """Decide a request.

        Args:
            asked: The decision.
            update_id: Sent again with this id, it counts once, and has the same answer.

        Raises:
            CommandError: The run rejects the decision, or no worker answers.
        """
        proven = await self.with_proof(asked, asked.id)
        return await self._update("decide", proven, Decision, update_id)

    async def retry(self, asked: RetryInput, *, update_id: str | None = None) -> Decision:
        """Retry a failed task that waits; like `decide`."""
        return await self._update("retry", await self.with_proof(asked), Decision, update_id)

    async def skip(self, asked: SkipInput, *, update_id: str | None = None) -> Decision:
        """Skip a task; like `decide`."""
        return await self._update("skip", await self.with_proof(asked), Decision, update_id)

    async def amend(self, asked: AmendInput) -> None:
        """Change the context at the next step; raises like `decide`."""
        await self._update("amend", await self.with_proof(asked), int)

    async def push(self, asked: PushInput) -> int:
        """Add, replace or remove a receiver of the run's states; raises like `decide`."""
        return await self._update("push", asked, int)

    async def redirect(self, asked: RedirectInput) -> None:
        """Redirect the run to another team when its current one ends; raises like `decide`."""
        await self._update("redirect", await self.with_proof(asked), object)

    async def say(self, asked: SayInput, *, update_id: str | None = None) -> str:
        """Tell an agent at work something; return its step. Raises like `decide`."""
        return await self._update("say", await self.with_proof(asked), str, update_id)

    async def with_proof(self, asked: Signed, request: str | None = None) -> Signed:
        """Return a message with the proof that the run demands, if it demands one."""
        authority = None if self.signer is None else (await self.status()).authority
        if self.signer is None or authority is None:
            return asked
        shown = None if request is None else (await self.request(request)).pending
        return self.signer.sign(asked, authority, shown)

    async def signal(self, name: str, asked: BaseModel) -> None:
        """Send a signal to the run.

        Raises:
            CommandError: The run has ended, or the server does not answer.
        """
        check_sent(name, asked)
        try:
            await self.handle.signal(name, asked)
        except RPCError as error:
            raise call_error(self.id, error) from None

    async def cancel(self, reason: str) -> None:
        """Cancel the run; raises like `signal`.

        A cancellation has no header: its sender stands in its field for the identity of a client.
        """
        request = RequestCancelWorkflowExecutionRequest(
            namespace=self._client.namespace,
            workflow_execution=WorkflowExecution(workflow_id=self.id),
            identity=current_sender().model_dump_json(),
            request_id=uuid4().hex,
            reason=reason,
        )
        try:
            await self._client.workflow_service.request_cancel_workflow_execution(
                request, retry=True
            )
        except RPCError as error:
            raise call_error(self.id, error) from None

    async def _update(
        self, name: UpdateName, update_input: BaseModel, answer: type[T], id: str | None = None
    ) -> T:
        try:
            return await updated(self, name, update_input, answer, id)
        except (
            WorkflowUpdateFailedError,
            WorkflowUpdateRPCTimeoutOrCancelledError,
            RPCError,
        ) as error:
            raise update_error(self.id, name, error) from None

    async def end(self) -> RunEnd:
        """Wait for the end, however long it takes.

        Raises:
            Unanswered: The server stopped answering.
        """
        try:
            result = await self.handle.result()
        except WorkflowFailureError as error:
            if isinstance(error.cause, CancelledError):
                return await self._cancelled_end()
            return failed_end(error)
        except RPCError as error:
            raise call_error(self.id, error) from None
        return RunEnd("completed", result)

    async def _cancelled_end(self) -> RunEnd:
        """Ask the workflow of a cancelled run for its result, which is stored nowhere else."""
        try:
            answer = await self._query("result", object)
        except CommandError as error:
            return RunEnd("cancelled", details=str(error))
        if answer is None:
            return RunEnd("cancelled")
        return RunEnd("cancelled", TeamResult.model_validate(answer))

    async def history(self, part: str | None = None) -> WorkflowHistory:
        """Fetch all events, with externally stored values.

        Args:
            part: Run id of an earlier part of a run that continued as new; default: the latest.
        """
        handle = self._client.get_workflow_handle(self.id, run_id=part)
        try:
            history = await handle.fetch_history()
        except RPCError as error:
            raise call_error(self.id, error) from None
        return await whole(history, self._client.data_converter)

    async def _query(self, name: str, result: type[T], *args: object) -> T:
        check_sent(name, *args)
        until = _deadline(self.answer_time)
        while True:
            try:
                return await self.handle.query(
                    name, args=list(args), result_type=result, rpc_timeout=self.answer_time
                )
            except WorkflowQueryFailedError as error:
                if (await self.describe()).workflow_type != WORKFLOW:
                    raise CommandError(f"{self.id!r} is not a Coterie run") from None
                raise QueryRefused(f"run {self.id!r} cannot answer: {error}") from None
            except RPCError as error:
                if not waits_its_turn(error) or _is_past(until):
                    raise call_error(self.id, error) from None
            await asyncio.sleep(_AGAIN_SECONDS)  # until another client's query is answered


async def updated(
    run: Run, name: str, asked: BaseModel, answer: type[T], id: str | None = None
) -> T:
    """Send an update and return its answer; repeat it until the run has seen it."""
    check_sent(name, asked)
    # The SDK's own overloads are partly untyped.
    update: Callable[..., Awaitable[T]] = cast("Any", run.handle).execute_update
    until = _deadline(run.answer_time)
    while True:
        try:
            return await update(name, asked, id=id, result_type=answer, rpc_timeout=run.answer_time)
        except WorkflowUpdateFailedError as error:
            cause = error.cause
            early = isinstance(cause, ApplicationError) and cause.type == NOT_YET
            if not early or _is_past(until):
                raise
        except RPCError as error:
            if not task_was_lost(error) or _is_past(until):
                raise
        await asyncio.sleep(_AGAIN_SECONDS)


def _deadline(time: timedelta) -> float:
    return monotonic() + time.total_seconds()


def _is_past(deadline: float) -> bool:
    return monotonic() > deadline


def json_of(value: BaseModel) -> str:
    """Format a message as JSON: every field, with the aliases used on the wire."""
    return value.model_dump_json(indent=2, by_alias=True)
