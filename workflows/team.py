"""TeamWorkflow: the durable run of one plan: its start, its continue-as-new and its end.

Deterministic and sandboxed: `dsl` decides, the Scope acts. The validator of an unknown update
refuses it, so it adds nothing to the history.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

from pydantic import ValidationError
from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError, FailureError

from coterie.dsl.errors import ResultTooLarge, RunRefused, StateTooLarge, TeamError, listed, nearest
from coterie.dsl.model.plan import Plan
from coterie.dsl.sizes import MAX_VALUE_SIZE, exceeds
from coterie.dsl.strict_json import check_context
from coterie.workflows.control.cancellation import stop
from coterie.workflows.control.push_states import push_end
from coterie.workflows.core.activation import SIGNALS_FOLLOW
from coterie.workflows.core.decoding import decoded
from coterie.workflows.core.encoding import encoded
from coterie.workflows.core.memo_keys import STARTED
from coterie.workflows.core.messages import TeamInput
from coterie.workflows.core.requests import MALFORMED
from coterie.workflows.core.results import RunFailed, failed_result
from coterie.workflows.core.scope import Interrupted
from coterie.workflows.core.senders import SENDER
from coterie.workflows.core.state import RunState
from coterie.workflows.core.trail import note_refusal
from coterie.workflows.core.views import TeamResult
from coterie.workflows.handlers.board import board
from coterie.workflows.handlers.early_signals import EarlySignals
from coterie.workflows.handlers.message_handlers import MessageHandlers
from coterie.workflows.handlers.query_handlers import QueryHandlers
from coterie.workflows.handlers.run_users import starter_of
from coterie.workflows.handlers.session_messages import SessionMessages
from coterie.workflows.handlers.start_checks import begin
from coterie.workflows.interpreter import TeamInterpreter, run
from coterie.workflows.plan_source import change_authority, plan_of
from coterie.workflows.temporal.durable_scope import DurableScope

METADATA = "__temporal_workflow_metadata"
"""The query by which Temporal's UI and CLI read what the SDK knows of a run, its details too."""


def show_when_asked(board: Callable[[], str]) -> None:
    """Give the board as the current details of the run, as it is when somebody asks."""
    handler = cast(
        "Callable[[], Any] | None",
        workflow.get_query_handler(METADATA),  # pyright: ignore[reportUnknownMemberType]
    )
    if handler is None:
        raise AssertionError(f"the SDK has no query {METADATA!r}")

    def metadata() -> Any:
        answer = handler()
        answer.current_details = board()
        return answer

    workflow.set_query_handler(METADATA, metadata)  # pyright: ignore[reportUnknownMemberType]


UPDATES = ("amend", "decide", "push", "redirect", "retry", "say", "send_message", "skip")
QUERIES = ("cost", "events", "pending", "request", "result", "state", "status")

_MAX_NAME_LENGTH = 200


def _unknown(what: str, name: str, names: Sequence[str]) -> ApplicationError:
    short = name if len(name) <= _MAX_NAME_LENGTH else f"{name[:_MAX_NAME_LENGTH]}..."
    problem = f"a run knows no {what} {short!r}; known are {listed(names)}"
    hint = nearest(short, names)
    message = f"{problem}; {hint}" if hint else problem
    return ApplicationError(message, type=MALFORMED, non_retryable=True)


class UnknownMessages:
    """Handlers of all other names."""

    @workflow.update(dynamic=True, description="Any other name; it is refused")
    async def unknown_update(self, name: str, args: Sequence[RawValue]) -> None:
        """Refuse the update; its validator has refused it before."""
        raise _unknown("update", name, UPDATES)

    @unknown_update.validator
    def _unknown_update_validator(self, name: str, args: Sequence[RawValue]) -> None:
        raise _unknown("update", name, UPDATES)

    @workflow.query(dynamic=True, description="Any other name; it is refused")
    def unknown_query(self, name: str, args: Sequence[RawValue]) -> None:
        """Refuse the query."""
        raise _unknown("query", name, QUERIES)


MAX_EVENTS = 40_000
"""Maximum events of a history that the run cannot leave; Temporal ends a run at 51,200."""

MAX_BYTES = 40_000_000
"""Maximum bytes of such a history; Temporal ends a run at 50 MB."""

HELD_EVENTS = 500
"""Events after which the run tries again to leave its history."""


def _sendable(result: TeamResult) -> TeamResult:
    """Return a result for failures and queries; without its values if they are too large."""
    if isinstance(encoded(result), RawValue):
        return result
    return result.model_copy(update={"context": {}, "output": {}})


def _nothing_to_cut(step: str) -> None:
    """Do nothing: no step runs yet."""


def _memo(plan: Plan) -> dict[str, object]:
    """Return the memo of the next history: it would lack what this one added, and the summary."""
    memo = {key: RawValue(payload) for key, payload in workflow.info().raw_memo.items()}
    return {STARTED: plan.name, **memo}


def _never() -> bool:
    """Return False: a run without a plan never continues as new."""
    return False


async def _every_message_answered() -> None:
    """Wait for the signals that this activation has yet to bring, and for all handlers."""
    await workflow.wait_condition(
        lambda: not SIGNALS_FOLLOW.get() and workflow.all_handlers_finished()
    )


@workflow.defn(name="TeamWorkflow", failure_exception_types=[TeamError])
class TeamWorkflow(MessageHandlers, SessionMessages, QueryHandlers, UnknownMessages):
    """One run of one plan."""

    @workflow.init
    def __init__(self, raw: RawValue) -> None:
        self.plan: Plan | None = None
        self.state = RunState()
        self.refused: RunRefused | None = None
        self.done = False
        self.came_to: TeamResult | None = None
        self.cut = _nothing_to_cut
        self.listens = False
        self.early = EarlySignals()
        self.early_messages = 0
        self.moving = False
        self._closed = _never
        self.input = TeamInput()
        self._begun = False
        self._first_stretch: asyncio.Task[None] | None = None
        workflow.register_random_seed_callback(lambda seed: change_authority(self.state, seed))
        try:
            if len(raw.payload.data) > MAX_VALUE_SIZE:
                raise RunRefused(
                    f"the input has {len(raw.payload.data):,} bytes; {MAX_VALUE_SIZE:,} are allowed"
                )
            ours = workflow.info().continued_run_id is not None
            self.input = decoded(raw, TeamInput, ours=ours)
            self.plan = self.input.plan
            if self.input.carried is not None:
                if not ours:
                    raise RunRefused("`carried` is for runs that continue as new")
                self.state = RunState.resumed(self.input.carried)
                change_authority(self.state, workflow.random_seed())
            else:
                check_context(self.input.context)
                self.state.main.context = self.input.context
        except RunRefused as error:
            self.refused = error
        except ValidationError as error:
            self.refused = RunRefused(f"`carried` is not the state of a run: {error}")

    @workflow.run
    async def run(self, raw: RawValue) -> TeamResult:
        """Run the plan to its end; `__init__` has read the argument."""
        self._first_stretch = asyncio.create_task(self._listen())
        try:
            plan = await self._plan()
        except (FailureError, TeamError):
            await self._answer_early()
            raise
        except asyncio.CancelledError:
            if workflow.cancellation_reason() is not None:  # else the run is only evicted
                await self._answer_early()
            raise
        self._begun = True
        show_when_asked(lambda: board(plan, self.state))
        scope = DurableScope(plan, self.state)
        self.cut = scope.cut
        self._closed = scope.continues_soon
        if self.state.notifications:  # in delivery when the run continued as new
            scope.notifier.notify_again()
        try:
            return await self._run_from_state(plan, scope)
        except asyncio.CancelledError:
            if scope.cancelled() is not None:  # else the run is only evicted
                await self._finish(scope, _sendable(await stop(scope, TeamInterpreter(scope))))
            raise

    async def _plan(self) -> Plan:
        """Return the plan, with the state at its start, or as another run left it.

        Raises:
            TeamError: there is none, or it cannot be run.
            FailureError: the worker cannot compile it.
        """
        if self.refused is not None:
            raise self.refused
        self.plan = plan = await plan_of(self.input, self.state)
        if self.input.carried is None and self.input.fork is None:
            header = workflow.info().headers.get(SENDER)
            begin(plan, self.state, starter_of(None if header is None else header.data))
        return plan

    async def _answer_early(self) -> None:
        """Answer the messages to a run that never starts."""
        self.done = self._begun = True
        await workflow.wait_condition(lambda: self.listens)
        await _every_message_answered()

    async def _listen(self) -> None:
        """Accept messages from now on: the run has begun and has come as far as it can alone.

        Without a plan it can judge no message. Signals that arrive before the first workflow task
        are delivered before the run does anything: a decision would then find no open request. So
        the condition is true only when nothing else can proceed, which is when Temporal checks it.
        """
        await workflow.wait_condition(lambda: self._begun)
        for cause in self.early.overflow():
            note_refusal(self.state, workflow.now(), cause)
        self.listens = True

    def admission_closed(self) -> bool:
        """Return whether the run must continue as new before it takes another message."""
        return self._closed()

    async def until(self, ready: Callable[[], bool]) -> None:
        """Wait until the condition holds."""
        await workflow.wait_condition(ready)

    async def _run_from_state(self, plan: Plan, scope: DurableScope) -> TeamResult:
        """Run from where the state is."""
        try:
            result = await self._result(plan, scope)
            refusal = encoded(result)
            if isinstance(refusal, str):
                too_large = ResultTooLarge(
                    f"the run is done, and its result cannot be given: {refusal}"
                )
                raise RunFailed(failed_result(scope, too_large), too_large)
        except RunFailed as error:
            team_result = _sendable(error.result)
            await self._finish(scope, team_result)
            detail = team_result.model_dump(mode="json", exclude_defaults=True)
            raise ApplicationError(
                str(error), detail, type=error.type, non_retryable=True
            ) from None
        await self._finish(scope, result)
        return result

    async def _result(self, plan: Plan, scope: DurableScope) -> TeamResult:
        """Return the result of the run, in this history or in a later one."""
        while True:
            try:
                return await run(scope)
            except Interrupted:
                await self._continue(plan, scope)

    async def _continue(self, plan: Plan, scope: DurableScope) -> None:
        """Continue with an empty history and everything that the run remembers.

        A state that is too large to carry may be smaller later: until then the run continues in
        this history, as far as Temporal allows.

        Raises:
            RunFailed: this history is nearly full.
        """
        self.moving = True
        await _every_message_answered()
        self.moving = False
        carried: RawValue | str = f"it has more than the {MAX_VALUE_SIZE:,} bytes that may travel"
        if not exceeds(self.state.values(), 3 * MAX_VALUE_SIZE):  # else it takes seconds to encode
            carried = encoded(TeamInput(plan=plan, carried=self.state.carried()))
        if not isinstance(carried, str):
            workflow.continue_as_new(args=[carried], memo=_memo(plan))
        events = workflow.info().get_current_history_length()
        size = workflow.info().get_current_history_size()
        if events > MAX_EVENTS or size > MAX_BYTES:
            error = StateTooLarge(
                f"this run has to continue with a new history (this one has {events:,} events and "
                f"{size:,} bytes), and what it remembers cannot travel: {carried}"
            )
            raise RunFailed(failed_result(scope, error), error)
        scope.hold(events + HELD_EVENTS)

    async def _finish(self, scope: DurableScope, result: TeamResult) -> None:
        """Keep the result for queries, show the end on the board, and answer every message.

        Not in a `finally`: that would run, and fail, when a worker only evicts the run.
        """
        self.came_to = result
        self.done = scope.done = True
        scope.mark()
        push_end(scope, result.end)
        await scope.notifier.all_reported()
        await _every_message_answered()
