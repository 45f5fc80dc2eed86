"""Message handlers: the updates and signals by which people steer a run. Part of TeamWorkflow.

One declaration (`MessageKind`) says what each message means, for its update and its signal. A
validator refuses an update at once; a signal has no answer, so the trail keeps its refusal. A run
that compiles its document, or loads the state that it forks, cannot judge messages yet: early
signals wait, as many as fit.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel
from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from coterie.dsl.errors import RunRefused
from coterie.dsl.model.context.declarations import UNDECLARED, Declarations
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.traversal.step_walk import waited_for
from coterie.dsl.sizes import MAX_SIGNALLED, too_large
from coterie.workflows.approvals import decisions
from coterie.workflows.approvals.decision_refusals import DecisionRefusal, decision_refusal_text
from coterie.workflows.approvals.signed_messages import (
    SignatureInvalid,
    SignatureMissing,
    SignatureRefusal,
    authenticated,
    signature_refusal_text,
    use_proof,
)
from coterie.workflows.control import pause_and_amend as control
from coterie.workflows.control import retry_and_skip as steering
from coterie.workflows.control.push_states import change_receivers, push_refusal
from coterie.workflows.control.steering_refusals import (
    MessageUnusable,
    SignalUnwanted,
    SteeringRefusal,
    TooManySignals,
    refusal_text,
)
from coterie.workflows.core.causes.message_causes import MessageRefused
from coterie.workflows.core.causes.trail_causes import shortened
from coterie.workflows.core.decoding import message, plain, size_of, takes_any_arguments
from coterie.workflows.core.message_claims import claim_of
from coterie.workflows.core.messages import (
    AmendInput,
    Answer,
    Control,
    DecideInput,
    PushInput,
    RedirectInput,
    RetryInput,
    SayInput,
    SkipInput,
)
from coterie.workflows.core.requests import MALFORMED, Decision, How, RunNotReady
from coterie.workflows.core.state import RunState
from coterie.workflows.core.trail import note_refusal
from coterie.workflows.handlers.early_signals import EarlySignals
from coterie.workflows.sessions.said_messages import say, say_refusal
from coterie.workflows.signatures.statements import MessageClaim

Asked = TypeVar("Asked", bound=BaseModel)
Done = TypeVar("Done")
AnyRefusal = SteeringRefusal | DecisionRefusal | SignatureRefusal | RunNotReady


class SteeredRun:
    """The part of a run that a message may read and change."""

    plan: Plan | None
    state: RunState
    done: bool
    cut: Callable[[str], None]
    """Ends the call that a step waits for."""


@dataclass(frozen=True)
class MessageKind(Generic[Asked, Done]):
    """One thing that people may ask of a run."""

    model: type[Asked]
    """The type of the message."""
    refusal: Callable[[SteeredRun, Asked], AnyRefusal | None]
    """Returns why the run refuses it, or None."""
    act: Callable[[SteeredRun, Asked, datetime, How], Done]
    """Applies it; it has not been refused."""
    claim: Callable[[Asked], MessageClaim] | None = None
    """Returns what its signed statement must say; None if it never needs one."""


def _short_for(decision: Literal["approve", "reject"]) -> MessageKind[Answer, Decision]:
    """Return the message that is short for `decide` with this decision."""

    def decided(answer: Answer) -> DecideInput:
        return DecideInput(**answer.model_dump(exclude_unset=True), decision=decision)

    return MessageKind(
        Answer,
        lambda run, message_input: decisions.refusal(run.state, decided(message_input)),
        lambda run, message_input, now, how: decisions.record(
            run.state, decided(message_input), now, how
        ),
        lambda message_input: claim_of(decided(message_input)),
    )


def _declarations_of(run: SteeredRun) -> Declarations:
    return UNDECLARED if run.plan is None else run.plan.context


def _amend(run: SteeredRun, amendment: AmendInput, now: datetime, how: How) -> int:
    """Amend the context at the next boundary; return how many amendments wait."""
    run.state.amendments.append(amendment)
    return len(run.state.amendments)


def _redirect(run: SteeredRun, redirect: RedirectInput, now: datetime, how: How) -> str:
    """Redirect the run to another team; return its name."""
    control.redirect(run.state, redirect, now)
    return redirect.team


DECIDE = MessageKind[DecideInput, Decision](
    DecideInput,
    lambda run, message_input: decisions.refusal(run.state, message_input),
    lambda run, message_input, now, how: decisions.record(run.state, message_input, now, how),
    claim_of,
)

APPROVE = _short_for("approve")
REJECT = _short_for("reject")

AMEND = MessageKind[AmendInput, int](
    AmendInput,
    lambda run, message_input: (
        control.end_refusal(run.state, done=run.done)
        or control.amend_refusal(run.state, message_input, _declarations_of(run))
    ),
    _amend,
    claim_of,
)

REDIRECT = MessageKind[RedirectInput, str](
    RedirectInput,
    lambda run, message_input: (
        control.end_refusal(run.state, done=run.done)
        or control.redirect_refusal(run.plan, run.state, message_input)
    ),
    _redirect,
    claim_of,
)

RETRY = MessageKind[RetryInput, Decision](
    RetryInput,
    lambda run, message_input: steering.retry_refusal(run.state, message_input),
    lambda run, message_input, now, how: steering.retry(run.state, message_input, now, how),
    claim_of,
)

SKIP = MessageKind[SkipInput, Decision](
    SkipInput,
    lambda run, message_input: steering.skip_refusal(run.plan, run.state, message_input),
    lambda run, message_input, now, how: steering.skip(
        run.plan, run.state, message_input, now, how, run.cut
    ),
    claim_of,
)

SAY = MessageKind[SayInput, str](
    SayInput,
    lambda run, message_input: (
        control.end_refusal(run.state, done=run.done) or say_refusal(run.state, message_input)
    ),
    lambda run, message_input, now, how: say(run.state, message_input, now),
    claim_of,
)

PUSH = MessageKind[PushInput, int](
    PushInput,
    lambda run, message_input: (
        control.end_refusal(run.state, done=run.done) or push_refusal(run.state, message_input)
    ),
    lambda run, message_input, now, how: change_receivers(run.state, message_input),
)

PAUSE = MessageKind[Control, None](
    Control,
    lambda run, message_input: control.pause_refusal(run.state),
    lambda run, message_input, now, how: control.pause(run.state, message_input, now),
)

RESUME = MessageKind[Control, None](
    Control,
    lambda run, message_input: None,
    lambda run, message_input, now, how: control.resume(run.state, message_input, now),
)

BLOCKED = MessageKind[Control, None](
    Control,
    lambda run, message_input: None,
    lambda run, message_input, now, how: control.worker_blocked(run.state, message_input, now),
)


_MAX_SIGNALS = 100
_MAX_TEXT_LENGTH = 1000


def _text(refusal: AnyRefusal) -> str:
    """Return the refusal as a sentence, shortened: it may quote a long message."""
    if isinstance(refusal, RunNotReady):
        text = refusal.message
    elif isinstance(refusal, DecisionRefusal):
        text = decision_refusal_text(refusal)
    elif isinstance(refusal, SignatureMissing | SignatureInvalid):
        text = signature_refusal_text(refusal)
    else:
        text = refusal_text(refusal)
    return text if len(text) <= _MAX_TEXT_LENGTH else f"{text[:_MAX_TEXT_LENGTH]}..."


def refusal_error(refusal: AnyRefusal) -> ApplicationError:
    """Return the error of a refused update: a sentence for people, code and facts for programs."""
    text = _text(refusal)
    facts = asdict(refusal if isinstance(refusal, DecisionRefusal) else shortened(refusal))
    facts["message"] = text
    return ApplicationError(text, facts, type=refusal.code, non_retryable=True)


def _malformed_message(error: RunRefused) -> MessageUnusable:
    return MessageUnusable(MALFORMED, str(error))


def _decode_message(kind: MessageKind[Asked, Done], payloads: Sequence[RawValue]) -> Asked:
    """Decode and check the message of an update."""
    try:
        return message(payloads, kind.model)
    except RunRefused as error:
        raise refusal_error(_malformed_message(error)) from None


class MessageJudge(SteeredRun):
    """When a run judges a message, and how it refuses one: the base of all message handlers."""

    listens: bool
    """Whether the run can judge messages: it has begun and has reached its first wait."""
    early: EarlySignals
    """Signals that wait until the run can judge them."""

    async def listening(self) -> None:
        """Wait until the run can judge messages: it has begun and has reached its next wait."""
        if not self.listens:
            await self.until(lambda: self.listens)

    async def until(self, ready: Callable[[], bool]) -> None:
        """Wait until the condition holds."""
        raise NotImplementedError

    def refuse_too_early(self) -> None:
        """Refuse an update that the run cannot judge yet, so that the sender repeats it.

        A validator cannot wait, and accepting the update now to judge it later would be wrong (see
        docs/decisions/0013-messages-come-in-the-order-of-history.md).
        """
        if not self.listens:
            raise refusal_error(RunNotReady())

    def checked_update(self, kind: MessageKind[Asked, Done], given: Sequence[RawValue]) -> Asked:
        """Decode an update; refuse it if the run does not do what it asks."""
        message_input, refusal = self.judged(kind, _decode_message(kind, given))
        if refusal is not None:
            raise refusal_error(refusal)
        return message_input

    def judged(
        self, kind: MessageKind[Asked, Done], message_input: Asked
    ) -> tuple[Asked, AnyRefusal | None]:
        """Return a message under the name of its signer, and why the run refuses it, if it does."""
        if kind.claim is not None:
            believed = authenticated(self.state, message_input, kind.claim, workflow.now())
            if isinstance(believed, SignatureMissing | SignatureInvalid):
                return message_input, believed
            message_input = believed
        return message_input, kind.refusal(self, message_input)

    def act(self, kind: MessageKind[Asked, Done], message_input: Asked, how: How) -> Done:
        """Do what a message asks."""
        now = workflow.now()
        done = kind.act(self, message_input, now, how)
        if kind.claim is not None and self.state.authority is not None:
            use_proof(self.state, message_input, kind.claim(message_input), now)
        return done

    async def admitted(self, name: str, given: Sequence[RawValue]) -> bool:
        """Wait until the run can judge a signal; False when too many wait already."""
        if not self.listens and not self.early.admit(name, size_of(given)):
            return False
        await self.listening()
        return True

    def note_refused(self, refusal: AnyRefusal) -> None:
        """Keep a refusal readable in the trail; it changes nothing else."""
        cause = MessageRefused("refused", refusal.code, _text(refusal))
        note_refusal(self.state, workflow.now(), cause, refusal.code)


def _update(name: str, description: str, kind: MessageKind[Asked, Done]) -> object:
    """Return an update for the SDK to find; its validator refuses at once what cannot be done."""

    @workflow.update(name=name, description=description)
    @takes_any_arguments
    async def handle(self: MessageJudge, *payloads: RawValue) -> Done:
        await self.listening()
        message_input = self.checked_update(kind, payloads)
        return self.act(kind, message_input, "update")

    @handle.validator
    @takes_any_arguments
    def validate(self: MessageJudge, *payloads: RawValue) -> None:  # pyright: ignore[reportUnusedFunction]
        _decode_message(kind, payloads)  # nobody needs to repeat a malformed one
        self.refuse_too_early()
        self.checked_update(kind, payloads)

    return handle


def _signal(name: str, description: str, kind: MessageKind[Asked, Done]) -> object:
    """Return a signal for the SDK to find; the trail keeps why the run refuses it."""

    @workflow.signal(name=name, description=description)
    @takes_any_arguments
    async def handle(self: MessageJudge, *payloads: RawValue) -> None:
        if not await self.admitted(name, payloads):
            return
        try:
            message_input = message(payloads, kind.model)
        except RunRefused as error:
            self.note_refused(_malformed_message(error))
            return
        message_input, refusal = self.judged(kind, message_input)
        if refusal is None:
            self.act(kind, message_input, "signal")
        else:
            self.note_refused(refusal)

    return handle


class MessageHandlers(MessageJudge):
    """The updates and signals of a run."""

    decide = _update(
        "decide",
        "Decide a pending approval: {id, decision, by, comment, digest, payload}",
        DECIDE,
    )
    approve = _signal(
        "approve",
        "Approve a pending request: {id, by, comment, digest, payload}",
        APPROVE,
    )
    reject = _signal("reject", "Reject a pending request: {id, by, comment, digest}", REJECT)
    amend = _update("amend", "Change the context at the next step: {updates, by, why}", AMEND)
    redirect = _update(
        "redirect", "Go to another team when the current one ends: {team, by, why}", REDIRECT
    )
    push = _update(
        "push", "Send the state of the run to an A2A client: {id, url, token, removed}", PUSH
    )
    say = _update("say", "Tell an agent at work something: {text, step, by}; its step", SAY)
    retry = _update("retry", "Retry a failed task that waits: {task, by, why}", RETRY)
    retry_signal = _signal("retry", "Retry a failed task: {task, by, why}", RETRY)
    skip = _update("skip", "Skip a task, now or when it starts: {task, value, by, why}", SKIP)
    skip_signal = _signal("skip", "Skip a task: {task, value, by, why}", SKIP)
    pause = _signal("pause", "Start nothing new until `resume`: {by, why}", PAUSE)
    resume = _signal("resume", "Go on after `pause`: {by, why}", RESUME)
    worker_blocked = _signal(
        "worker_blocked",
        "A watchdog ended a worker that the run blocked: {by, why}",
        BLOCKED,
    )

    @workflow.signal(dynamic=True, description="A named signal that some step waits for")
    async def keep_signal(self, name: str, args: Sequence[RawValue]) -> None:
        """Keep the payload for the step that waits for it; refuse what no step waits for."""
        if not await self.admitted(name, args):
            return
        refusal = self._keep(name, args)
        if refusal is not None:
            self.note_refused(refusal)

    def _keep(self, name: str, args: Sequence[RawValue]) -> SteeringRefusal | None:
        if self.plan is None or name not in waited_for(self.plan):
            return SignalUnwanted(name)
        queue = self.state.signals.setdefault(name, [])
        if len(queue) >= _MAX_SIGNALS:
            return TooManySignals(name, _MAX_SIGNALS)
        try:
            payload = plain(args)
        except RunRefused as error:
            return MessageUnusable(MALFORMED, f"signal {name!r}: {error}")
        large = too_large([*queue, payload], f"what waits as signal {name!r}", MAX_SIGNALLED)
        if large is not None:
            return MessageUnusable("TooLarge", large)
        queue.append(payload)
        return None
