"""Repeatable attempts: whether another one can end differently than one that has failed."""

from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.retryability import can_pass
from coterie.workflows.core.causes.step_causes import StepStated
from coterie.workflows.core.location import Location
from coterie.workflows.core.progress.step_progress import RepeatableAttempt
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_keys import StateKey
from coterie.workflows.core.trail import note_step


def open_attempt(location: Location, scope: Scope) -> RepeatableAttempt:
    """Return the attempt in progress there, from before the run continued as new or begun."""
    return scope.state.progress.attempts.setdefault(location.key, RepeatableAttempt())


def close_attempt(location: Location, scope: Scope) -> None:
    """Forget the attempt: it has ended."""
    scope.state.progress.attempts.pop(location.key, None)


def note_effect(location: Location, state: RunState) -> None:
    """Note in all attempts around a call that it may have happened, and must not happen twice."""
    for key, attempt in state.progress.attempts.items():
        if StateKey(key).holds(location.key):
            attempt.has_acted = True


def may_repeat(
    attempt: RepeatableAttempt, outcome: Outcome, location: Location, scope: Scope
) -> bool:
    """Return whether another attempt would do no harm; if not, note why there is none."""
    if attempt.has_acted and outcome.error is not None and outcome.error.type != "OutcomeUnknown":
        note_step(scope, location, "not_retried", StepStated("has_acted"))
    return not attempt.has_acted


def note_answer(location: Location, state: RunState, error: str | None) -> None:
    """Note the end of a call in all attempts around it, unless the call would fail in the same way.

    Args:
        location: Where the call stands.
        state: The state of the run.
        error: The type of the call's failure; None if it succeeded.
    """
    if error is not None and not can_pass(error, data_can_differ=False):
        return
    for key, attempt in state.progress.attempts.items():
        if StateKey(key).holds(location.key):
            attempt.may_differ = True
