"""What people may ask of a run: one declaration for each message, for its update and its signal.

Pure: `workflows.handlers.message_handlers` takes the messages.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel

from coterie.dsl.model.context.declarations import UNDECLARED, Declarations
from coterie.dsl.model.plan import Plan
from coterie.workflows.approvals import decisions
from coterie.workflows.approvals.decision_refusals import DecisionRefusal
from coterie.workflows.control import pause_and_amend as control
from coterie.workflows.control import retry_and_skip as steering
from coterie.workflows.control.steering_refusals import SteeringRefusal
from coterie.workflows.core.messages import (
    AmendInput,
    Answer,
    Control,
    DecideInput,
    RedirectInput,
    RetryInput,
    SkipInput,
)
from coterie.workflows.core.requests import Decision, How, RunNotReady
from coterie.workflows.core.state import RunState

Asked = TypeVar("Asked", bound=BaseModel)
Done = TypeVar("Done")
AnyRefusal = SteeringRefusal | DecisionRefusal | RunNotReady


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


def _short_for(decision: Literal["approve", "reject"]) -> MessageKind[Answer, Decision]:
    """Return the message that is short for `decide` with this decision."""

    def decided(answer: Answer) -> DecideInput:
        return DecideInput(**answer.model_dump(exclude_unset=True), decision=decision)

    return MessageKind(
        Answer,
        lambda run, asked: decisions.refusal(run.state, decided(asked)),
        lambda run, asked, now, how: decisions.record(run.state, decided(asked), now, how),
    )


def _declarations_of(run: SteeredRun) -> Declarations:
    return UNDECLARED if run.plan is None else run.plan.context


def _amend(run: SteeredRun, asked: AmendInput, now: datetime, how: How) -> int:
    """Amend the context at the next boundary; return how many amendments wait."""
    run.state.amendments.append(asked)
    return len(run.state.amendments)


def _redirect(run: SteeredRun, asked: RedirectInput, now: datetime, how: How) -> str:
    """Redirect the run to another team; return its name."""
    control.redirect(run.state, asked, now)
    return asked.team


DECIDE = MessageKind[DecideInput, Decision](
    DecideInput,
    lambda run, asked: decisions.refusal(run.state, asked),
    lambda run, asked, now, how: decisions.record(run.state, asked, now, how),
)

APPROVE = _short_for("approve")
REJECT = _short_for("reject")

AMEND = MessageKind[AmendInput, int](
    AmendInput,
    lambda run, asked: (
        control.end_refusal(run.state, done=run.done)
        or control.amend_refusal(run.state, asked, _declarations_of(run))
    ),
    _amend,
)

REDIRECT = MessageKind[RedirectInput, str](
    RedirectInput,
    lambda run, asked: (
        control.end_refusal(run.state, done=run.done)
        or control.redirect_refusal(run.plan, run.state, asked)
    ),
    _redirect,
)

RETRY = MessageKind[RetryInput, Decision](
    RetryInput,
    lambda run, asked: steering.retry_refusal(run.state, asked),
    lambda run, asked, now, how: steering.retry(run.state, asked, now, how),
)

SKIP = MessageKind[SkipInput, Decision](
    SkipInput,
    lambda run, asked: steering.skip_refusal(run.plan, run.state, asked),
    lambda run, asked, now, how: steering.skip(run.plan, run.state, asked, now, how, run.cut),
)

PAUSE = MessageKind[Control, None](
    Control,
    lambda run, asked: control.pause_refusal(run.state),
    lambda run, asked, now, how: control.pause(run.state, asked, now),
)

RESUME = MessageKind[Control, None](
    Control,
    lambda run, asked: None,
    lambda run, asked, now, how: control.resume(run.state, asked, now),
)

BLOCKED = MessageKind[Control, None](
    Control,
    lambda run, asked: None,
    lambda run, asked, now, how: control.worker_blocked(run.state, asked, now),
)
