"""People: what people say to a run, by update and by signal. Each asks a pure function, no logic.

An update is refused at once, by its validator; a signal has no answer, so its refusal stays
readable in the trail. Part of TeamWorkflow.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from dsl.errors import RunRefused
from dsl.model.plan import Plan
from dsl.model.step_walk import waited_for
from dsl.sizes import MAX_SIGNALLED, too_large
from workflows.approvals import decisions as approvals
from workflows.control import pause_and_amend as control
from workflows.control import retry_and_skip as steering
from workflows.core.encoding import Model, message, plain, size_of, takes_any_arguments
from workflows.core.messages import (
    AmendInput,
    Answer,
    Control,
    DecideInput,
    RedirectInput,
    RetryInput,
    SkipInput,
)
from workflows.core.requests import MALFORMED, NOT_YET, TOO_EARLY, Decision, How, Refusal
from workflows.core.state import RunState
from workflows.core.trail import note_refusal
from workflows.core.trail_causes import MessageRefused
from workflows.handlers.early_messages import EarlySignals

_MAX_SIGNALS = 100
_MAX_REPORT_LENGTH = 1000


def _short(text: str) -> str:
    """A sentence of a refusal; what it repeats of a message may be long."""
    return text if len(text) <= _MAX_REPORT_LENGTH else f"{text[:_MAX_REPORT_LENGTH]}..."


def _shaped(given: Sequence[RawValue], model: type[Model]) -> Model:
    """What an update says, as its type; refused when it is not one."""
    try:
        return message(given, model)
    except RunRefused as error:
        raise ApplicationError(_short(str(error)), type=MALFORMED, non_retryable=True) from None


def _accepted(
    given: Sequence[RawValue], model: type[Model], refusal: Callable[[Model], str | None]
) -> Model:
    """What an update asks; refused at once when it is not one or cannot be done."""
    asked = _shaped(given, model)
    because = refusal(asked)
    if because is not None:
        raise ApplicationError(_short(because), type="Refused", non_retryable=True)
    return asked


def _refused(refusal: Refusal) -> ApplicationError:
    """What `decide` answers: a sentence for people, a code and its details for programs."""
    refusal = refusal.model_copy(update={"message": _short(refusal.message)})
    return ApplicationError(refusal.message, refusal, type=refusal.code, non_retryable=True)


def _decision(given: Sequence[RawValue]) -> DecideInput:
    """What an update `decide` says; refused when it is no decision."""
    try:
        return message(given, DecideInput)
    except RunRefused as error:
        raise _refused(approvals.malformed(error)) from None


class MessageHandlers:
    """The updates and signals of a run."""

    plan: Plan | None
    state: RunState
    done: bool
    cut: Callable[[str], None]
    """Ends the call that a step waits for."""
    listens: bool
    """Messages find the run where they found it when they came."""
    early: EarlySignals
    """Signals that wait until the run can judge them."""

    async def listening(self) -> None:
        """Wait until the run can judge messages: it has begun, and stands where they found it."""
        raise NotImplementedError

    def _refuse_too_early(self) -> None:
        """Have an update sent again that the run cannot judge yet: a validator cannot wait.

        To accept it and to judge it later would not do (decision 0013).
        """
        if not self.listens:
            raise _refused(Refusal(code=NOT_YET, message=TOO_EARLY))

    async def _admitted(self, name: str, given: Sequence[RawValue]) -> bool:
        """Wait until the run can judge a signal; False when too many wait already."""
        if not self.listens and not self.early.admit(name, size_of(given)):
            return False
        await self.listening()
        return True

    @workflow.update(
        description="Decide a pending approval: {id, decision, by, comment, digest, payload}"
    )
    @takes_any_arguments
    async def decide(self, *given: RawValue) -> Decision:
        """Take a decision; it is refused at once when it cannot be taken."""
        await self.listening()
        asked = self._decidable(given)
        return approvals.record(self.state, asked, workflow.now(), "update")

    @decide.validator
    @takes_any_arguments
    def _decide_validator(self, *given: RawValue) -> None:
        _decision(given)
        self._refuse_too_early()
        self._decidable(given)

    def _decidable(self, given: Sequence[RawValue]) -> DecideInput:
        asked = _decision(given)
        try:
            refusal = approvals.refusal(self.state, asked)
        except RunRefused as error:
            raise _refused(approvals.malformed(error)) from None
        if refusal is not None:
            raise _refused(refusal)
        return asked

    @workflow.signal(description="Approve a pending request: {id, by, comment}")
    @takes_any_arguments
    async def approve(self, *given: RawValue) -> None:
        """The twin of `decide` for those who can only signal."""
        if not await self._admitted("approve", given):
            return
        self._signalled(given, approve=True)

    @workflow.signal(description="Reject a pending request: {id, by, comment}")
    @takes_any_arguments
    async def reject(self, *given: RawValue) -> None:
        """The twin of `decide` for those who can only signal."""
        if not await self._admitted("reject", given):
            return
        self._signalled(given, approve=False)

    @workflow.signal(dynamic=True, description="A named signal that some step waits for")
    async def signalled(self, name: str, args: Sequence[RawValue]) -> None:
        """Keep the payload for the step that waits for it; what nobody waits for is refused."""
        if not await self._admitted(name, args):
            return
        if self.plan is None or name not in waited_for(self.plan):
            self._refuse(f"nothing in this plan waits for a signal {name!r}")
            return
        queue = self.state.signals.setdefault(name, [])
        if len(queue) >= _MAX_SIGNALS:
            self._refuse(f"{_MAX_SIGNALS} signals {name!r} wait already")
            return
        try:
            payload = plain(args)
        except RunRefused as error:
            self._refuse(f"signal {name!r}: {error}", MALFORMED)
            return
        large = too_large([*queue, payload], f"what waits as signal {name!r}", MAX_SIGNALLED)
        if large is None:
            queue.append(payload)
        else:
            self._refuse(large)

    def _refuse(self, because: str, code: str | None = None) -> None:
        """Keep a refusal readable in the trail; it changes nothing else."""
        cause = MessageRefused("refused", code, _short(because))
        note_refusal(self.state, workflow.now(), cause, code)

    @workflow.signal(description="Start nothing new until `resume`: {by, why}")
    @takes_any_arguments
    async def pause(self, *given: RawValue) -> None:
        """Hold the run; what runs may finish."""
        if not await self._admitted("pause", given):
            return
        self._controlled(given, control.pause)

    @workflow.signal(description="Go on after `pause`: {by, why}")
    @takes_any_arguments
    async def resume(self, *given: RawValue) -> None:
        """Let the run go on."""
        if not await self._admitted("resume", given):
            return
        self._controlled(given, control.resume)

    @workflow.signal(
        name="worker_blocked",
        description="A watchdog ended a worker that the run blocked: {by, why}",
    )
    @takes_any_arguments
    async def worker_blocked(self, *given: RawValue) -> None:
        """Record it; the next worker that the run blocks terminates it."""
        if not await self._admitted("worker_blocked", given):
            return
        self._controlled(given, control.worker_blocked)

    def _controlled(
        self, given: Sequence[RawValue], act: Callable[[RunState, Control, datetime], None]
    ) -> None:
        try:
            act(self.state, message(given, Control), workflow.now())
        except RunRefused as error:
            self._refuse(str(error), MALFORMED)

    @workflow.update(description="Change the context at the next step: {updates, by, why}")
    @takes_any_arguments
    async def amend(self, *given: RawValue) -> int:
        """Accept a change of the context; the number of the amendments that wait."""
        await self.listening()
        self.state.amendments.append(self._amendable(given))
        return len(self.state.amendments)

    @amend.validator
    @takes_any_arguments
    def _amend_validator(self, *given: RawValue) -> None:
        _shaped(given, AmendInput)
        self._refuse_too_early()
        self._amendable(given)

    def _amendable(self, given: Sequence[RawValue]) -> AmendInput:
        over = control.over(self.state, done=self.done)
        return _accepted(
            given, AmendInput, lambda asked: over or control.refusal(self.state, asked)
        )

    @workflow.update(description="Go to another team when the current one ends: {team, by, why}")
    @takes_any_arguments
    async def redirect(self, *given: RawValue) -> str:
        """Accept a redirection; the team that comes next."""
        await self.listening()
        asked = self._redirectable(given)
        control.redirect(self.state, asked, workflow.now())
        return asked.team

    @redirect.validator
    @takes_any_arguments
    def _redirect_validator(self, *given: RawValue) -> None:
        _shaped(given, RedirectInput)
        self._refuse_too_early()
        self._redirectable(given)

    def _redirectable(self, given: Sequence[RawValue]) -> RedirectInput:
        over = control.over(self.state, done=self.done)
        refusal = partial(control.refused_redirect, self.plan, self.state)
        return _accepted(given, RedirectInput, lambda asked: over or refusal(asked))

    @workflow.update(description="Try a failed task again that waits: {task, by, why}")
    @takes_any_arguments
    async def retry(self, *given: RawValue) -> Decision:
        """Take the word of a person on a failed task."""
        await self.listening()
        asked = _accepted(given, RetryInput, partial(steering.retry_refusal, self.state))
        return steering.retry(self.state, asked, workflow.now(), "update")

    @retry.validator
    @takes_any_arguments
    def _retry_validator(self, *given: RawValue) -> None:
        _shaped(given, RetryInput)
        self._refuse_too_early()
        _accepted(given, RetryInput, partial(steering.retry_refusal, self.state))

    @workflow.signal(name="retry", description="Try a failed task again: {task, by, why}")
    @takes_any_arguments
    async def retry_signalled(self, *given: RawValue) -> None:
        """The twin of `retry` for those who can only signal."""
        if not await self._admitted("retry", given):
            return
        try:
            asked = _accepted(given, RetryInput, partial(steering.retry_refusal, self.state))
        except ApplicationError as refusal:
            self._refuse(refusal.message, MALFORMED if refusal.type == MALFORMED else None)
        else:
            steering.retry(self.state, asked, workflow.now(), "signal")

    @workflow.update(description="Leave a task out, now or when it begins: {task, value, by, why}")
    @takes_any_arguments
    async def skip(self, *given: RawValue) -> Decision:
        """Take the word of a person on any task."""
        await self.listening()
        asked = _accepted(given, SkipInput, partial(steering.skip_refusal, self.plan, self.state))
        return self._skip(asked, "update")

    @skip.validator
    @takes_any_arguments
    def _skip_validator(self, *given: RawValue) -> None:
        _shaped(given, SkipInput)
        self._refuse_too_early()
        _accepted(given, SkipInput, partial(steering.skip_refusal, self.plan, self.state))

    @workflow.signal(name="skip", description="Leave a task out: {task, value, by, why}")
    @takes_any_arguments
    async def skip_signalled(self, *given: RawValue) -> None:
        """The twin of `skip` for those who can only signal."""
        if not await self._admitted("skip", given):
            return
        try:
            asked = _accepted(
                given, SkipInput, partial(steering.skip_refusal, self.plan, self.state)
            )
        except ApplicationError as refusal:
            self._refuse(refusal.message, MALFORMED if refusal.type == MALFORMED else None)
        else:
            self._skip(asked, "signal")

    def _skip(self, asked: SkipInput, how: How) -> Decision:
        return steering.skip(self.plan, self.state, asked, workflow.now(), how, self.cut)

    def _signalled(self, given: Sequence[RawValue], *, approve: bool) -> None:
        """Take a signalled decision; a refusal stays readable in the trail."""
        try:
            answer = message(given, Answer)
            said = answer.model_dump(exclude_unset=True)
            asked = DecideInput(**said, decision="approve" if approve else "reject")
            refusal = approvals.refusal(self.state, asked)
        except RunRefused as error:
            refused = approvals.malformed(error)
            self._refuse(refused.message, refused.code)
            return
        if refusal is None:
            approvals.record(self.state, asked, workflow.now(), "signal")
        else:
            self._refuse(refusal.message, refusal.code)
