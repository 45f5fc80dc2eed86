"""TeamWorkflow: the durable run of one plan. Init, run, signals, update, queries; no logic.

Deterministic and sandboxed: everything it decides is in `dsl`, everything it does in Scope.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NoReturn, TypeVar

from pydantic import BaseModel, ValidationError
from temporalio import workflow
from temporalio.common import RawValue, RetryPolicy
from temporalio.exceptions import ApplicationError

from activities.contracts import COMPILE_TEAM, CompileRequest, CompileResult
from dsl.errors import RunRefused, TeamError
from dsl.plan import Plan
from dsl.values import Json
from dsl.walking import waited_for
from workflows import approvals, control
from workflows.beginning import begin
from workflows.board import board, status
from workflows.durable import DurableScope
from workflows.encoding import encoded
from workflows.interpreter import run
from workflows.messages import (
    AmendInput,
    Answer,
    Control,
    DecideInput,
    Decision,
    Pending,
    RedirectInput,
    RunStatus,
    TeamInput,
    TeamResult,
    TrailPage,
)
from workflows.results import RunFailed
from workflows.scope import Interrupted
from workflows.state import RunState

_TRAIL_PAGE = 200
_MOST_SIGNALS = 100
Model = TypeVar("Model", bound=BaseModel)


def _decoded(raw: RawValue, model: type[Model]) -> Model:
    """A message as its type.

    Raises:
        RunRefused: with what is wrong, field by field. (A decoding error of the SDK's would
            retry the workflow task for ever, or drop a signal without a word.)
    """
    try:
        value: object = workflow.payload_converter().from_payload(raw.payload)
        return model.model_validate(value)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(str(part) for part in details['loc']) or 'the value'}: {details['msg']}"
            for details in error.errors(include_url=False)
        )
        raise RunRefused(f"not a {model.__name__}: {wrong}") from None
    except (ValueError, RuntimeError, KeyError) as error:
        raise RunRefused(f"not a {model.__name__}: {error}") from None


def _detail(result: TeamResult) -> Json:
    """A result as the detail of a failure; without its values when they are too many."""
    if isinstance(encoded(result), str):
        result = result.model_copy(update={"context": {}, "output": {}})
    return result.model_dump(mode="json", exclude_defaults=True)


@workflow.defn(name="TeamWorkflow", failure_exception_types=[TeamError])
class TeamWorkflow:
    """One run of one plan."""

    @workflow.init
    def __init__(self, raw: RawValue) -> None:
        self.plan: Plan | None = None
        self.state = RunState()
        self.refused: RunRefused | None = None
        self.done = False
        try:
            self.input = _decoded(raw, TeamInput)
            self.plan = self.input.plan
            if self.input.carried is not None:
                if workflow.info().continued_run_id is None:
                    raise RunRefused("`carried` is for runs that continue as new")
                self.state = RunState.resumed(self.input.carried)
            else:
                self.state.main.context = self.input.context
        except RunRefused as error:
            self.refused = error
        except ValidationError as error:
            self.refused = RunRefused(f"the carried state is none: {error}")

    @workflow.run
    async def run(self, raw: RawValue) -> TeamResult:
        """Run the plan to its end; the argument was taken by init."""
        if self.refused is not None:
            raise self.refused
        self.plan = plan = await self._compiled()
        if self.input.carried is None:
            begin(plan, self.state)
        scope = DurableScope(plan, self.state, lambda: board(plan, self.state))
        try:
            result = await run(scope)
        except Interrupted:
            await self._continue(plan)
        except RunFailed as error:
            await self._finish(scope)
            raise ApplicationError(
                str(error), _detail(error.result), type=error.type, non_retryable=True
            ) from None
        await self._finish(scope)
        refusal = encoded(result)
        if isinstance(refusal, str):
            raise ApplicationError(
                f"the run is done, and its result cannot be given: {refusal}", _detail(result),
                type="ResultTooLarge", non_retryable=True,
            )  # fmt: skip
        return result

    async def _continue(self, plan: Plan) -> NoReturn:
        """Go on with an empty history and everything that the run remembers."""
        await workflow.wait_condition(workflow.all_handlers_finished)
        carried = TeamInput(plan=plan, carried=self.state.carried())
        workflow.continue_as_new(args=[carried])

    async def _finish(self, scope: DurableScope) -> None:
        """The last word on the board, and every message answered.

        Not in a `finally`: that would run, and fail, when the run is only put out of memory.
        """
        self.done = True
        scope.show()
        await workflow.wait_condition(workflow.all_handlers_finished)

    async def _compiled(self) -> Plan:
        asked = [self.input.plan, self.input.team, self.input.document]
        if sum(one is not None for one in asked) != 1:
            raise RunRefused("a run starts from one of `team`, `document` or `plan`")
        if self.input.plan is not None:
            return self.input.plan
        result: CompileResult = await workflow.execute_local_activity(
            COMPILE_TEAM,
            CompileRequest(team=self.input.team, document=self.input.document),
            result_type=CompileResult,
            start_to_close_timeout=timedelta(seconds=30),
            retry_policy=RetryPolicy(maximum_attempts=5),
        )
        if result.plan is None:
            raise RunRefused(result.refused or "the team does not compile")
        return result.plan

    @workflow.update(description="Decide a pending approval: {id, decision, by, comment}")
    async def decide(self, raw: RawValue) -> Decision:
        """Take a decision; it is refused at once when it cannot be taken."""
        asked = _decoded(raw, DecideInput)
        refusal = approvals.refusal(self.state, asked)
        if refusal is not None:
            raise ApplicationError(refusal, type="Refused", non_retryable=True)
        return approvals.record(self.state, asked, workflow.now(), "update")

    @decide.validator
    def _decide_validator(self, raw: RawValue) -> None:
        try:
            refusal = approvals.refusal(self.state, _decoded(raw, DecideInput))
        except RunRefused as error:
            refusal = str(error)
        if refusal is not None:
            raise ApplicationError(refusal, type="Refused", non_retryable=True)

    @workflow.signal(description="Approve a pending request: {id, by, comment}")
    def approve(self, raw: RawValue) -> None:
        """The twin of `decide` for those who can only signal."""
        self._signalled(raw, approve=True)

    @workflow.signal(description="Reject a pending request: {id, by, comment}")
    def reject(self, raw: RawValue) -> None:
        """The twin of `decide` for those who can only signal."""
        self._signalled(raw, approve=False)

    @workflow.signal(dynamic=True, description="A named signal that some step waits for")
    def signalled(self, name: str, args: Sequence[RawValue]) -> None:
        """Keep the payload for the step that waits for it; what nobody waits for is refused."""
        if self.plan is None or name not in waited_for(self.plan):
            self._refuse(f"nothing in this plan waits for a signal {name!r}")
            return
        queue = self.state.signals.setdefault(name, [])
        if len(queue) >= _MOST_SIGNALS:
            self._refuse(f"{_MOST_SIGNALS} signals {name!r} wait already")
            return
        try:
            converter = workflow.payload_converter()
            queue.append(converter.from_payload(args[0].payload) if args else None)
        except (ValueError, RuntimeError, KeyError) as error:
            self._refuse(f"the payload of signal {name!r} is no JSON: {error}")

    def _refuse(self, because: str) -> None:
        """Keep a refusal readable in the trail; it changes nothing else."""
        control.note(self.state, "refused", because, workflow.now())

    @workflow.signal(description="Start nothing new until `resume`: {by, why}")
    def pause(self, raw: RawValue) -> None:
        """Hold the run; what runs may finish."""
        self._controlled(raw, control.pause)

    @workflow.signal(description="Go on after `pause`: {by, why}")
    def resume(self, raw: RawValue) -> None:
        """Let the run go on."""
        self._controlled(raw, control.resume)

    def _controlled(
        self, raw: RawValue, act: Callable[[RunState, Control, datetime], None]
    ) -> None:
        try:
            act(self.state, _decoded(raw, Control), workflow.now())
        except RunRefused as error:
            self._refuse(str(error))

    @workflow.update(description="Change the context at the next step: {updates, by, why}")
    async def amend(self, raw: RawValue) -> int:
        """Accept a change of the context; the number of the amendments that wait."""
        asked = _decoded(raw, AmendInput)
        refusal = control.refusal(self.state, asked)
        if refusal is not None:
            raise ApplicationError(refusal, type="Refused", non_retryable=True)
        self.state.amendments.append(asked)
        return len(self.state.amendments)

    @amend.validator
    def _amend_validator(self, raw: RawValue) -> None:
        try:
            refusal = control.refusal(self.state, _decoded(raw, AmendInput))
        except RunRefused as error:
            refusal = str(error)
        if refusal is not None:
            raise ApplicationError(refusal, type="Refused", non_retryable=True)

    @workflow.update(description="Go to another team when the current one ends: {team, by, why}")
    async def redirect(self, raw: RawValue) -> str:
        """Accept a redirection; the team that comes next."""
        asked = _decoded(raw, RedirectInput)
        refusal = control.refused_redirect(self.plan, self.state, asked)
        if refusal is not None:
            raise ApplicationError(refusal, type="Refused", non_retryable=True)
        control.redirect(self.state, asked, workflow.now())
        return asked.team

    @redirect.validator
    def _redirect_validator(self, raw: RawValue) -> None:
        try:
            asked = _decoded(raw, RedirectInput)
            refusal = control.refused_redirect(self.plan, self.state, asked)
        except RunRefused as error:
            refusal = str(error)
        if refusal is not None:
            raise ApplicationError(refusal, type="Refused", non_retryable=True)

    def _signalled(self, raw: RawValue, *, approve: bool) -> None:
        """Take a signalled decision; a refusal stays readable in the trail."""
        try:
            answer = _decoded(raw, Answer)
            asked = DecideInput(
                **answer.model_dump(), decision="approve" if approve else "reject",
            )  # fmt: skip
            refusal = approvals.refusal(self.state, asked)
        except RunRefused as error:
            refusal, asked = str(error), None
        if asked is not None and refusal is None:
            approvals.record(self.state, asked, workflow.now(), "signal")
        else:
            self._refuse(str(refusal))

    @workflow.query(description="Where the run is and what it has used")
    def status(self) -> RunStatus:
        """Where the run is."""
        return status(self.plan, self.state, done=self.done)

    @workflow.query(description="The requests that wait for a person")
    def pending(self) -> list[Pending]:
        """What waits for a person."""
        return list(self.state.pending.values())

    @workflow.query(description="What happened and because of what, after entry number `since`")
    def trail(self, since: int = 0) -> TrailPage:
        """A page of the trail; the latest thousand entries are kept here, history has all."""
        entries = [entry for entry in self.state.trail if entry.number > since]
        page = tuple(entry.told() for entry in entries[:_TRAIL_PAGE])
        return TrailPage(entries=page, more=len(entries) > _TRAIL_PAGE)
