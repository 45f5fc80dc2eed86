"""Questions of tools: a person answers what a call asks, and the call is made again with it.

The state keeps the question while the run waits, so nothing is asked or called twice.
"""

from typing import NamedTuple

from pydantic import JsonValue

from coterie.activities.contracts import FailureType
from coterie.dsl.json_values import json_digest
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.terms import ApprovalTerms, DecisionTerms
from coterie.dsl.model.tools.asked_input import AskedInput, GivenInput
from coterie.dsl.tool_loop.input_questions import (
    answers_of,
    input_form,
    input_prompt,
    suggested_input,
)
from coterie.workflows.approvals.approval_wait import PersonRequest, ask
from coterie.workflows.approvals.decisions import is_approved, rejected
from coterie.workflows.core.location import Location
from coterie.workflows.core.progress.agent_progress import CallInput
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.state_keys import INPUT

MAX_ROUNDS = 10
"""How often one call may ask."""


class InteractiveCall(NamedTuple):
    """A call that may ask a person."""

    skill: str
    given: JsonValue
    """Its whole input."""
    location: Location
    terms: DecisionTerms
    """Who answers, and until when."""

    @property
    def digest(self) -> str:
        """Of what is called with which input."""
        return json_digest(self.skill, self.given)


def earlier_execution(call: InteractiveCall, scope: Scope) -> int | None:
    """Return the execution of a call that has asked before the run continued as new."""
    known = _input_asked_before(call, scope)
    return None if known is None else known.execution


async def given_input(
    call: InteractiveCall, scope: Scope, *, boundary: bool
) -> GivenInput | Outcome | None:
    """Return a person's answers to what a call asks; None if it has asked nothing yet.

    Args:
        call: the call.
        scope: the run.
        boundary: whether the run may continue as new here.

    Returns:
        The failure of the call instead, if a person rejects the question, or nobody answers.
    """
    known = _input_asked_before(call, scope)
    if known is None:
        return None
    asked = known.asked
    if asked.continues and boundary:
        await scope.checkpoint()
    if known.is_answered or asked.continues:
        return GivenInput(asked=asked, answers=known.answers, by=known.by)
    request = PersonRequest(
        input_prompt(call.location.step.without_model_calls(), call.skill, asked, call.given),
        show=suggested_input(asked),
        terms=_terms(call.terms, asked),
        is_question=asked.is_plain,
    )
    decision = await ask(scope, call.location.at(INPUT), request, boundary=boundary)
    if not is_approved(decision):
        forget_question(call, scope)
        return rejected(decision)
    payload = decision.payload
    answers = answers_of(asked, payload if isinstance(payload, dict) else {})
    known.answers = {**known.answers, **answers} if asked.within_call else answers
    known.is_answered = True
    known.by = decision.by
    return GivenInput(asked=asked, answers=known.answers, by=known.by)


def note_question(
    call: InteractiveCall, asked: AskedInput, execution: int, scope: Scope
) -> Outcome | None:
    """Keep what a call asks; return its failure if it has asked too often."""
    inputs, known = scope.state.progress.call_inputs, _input_asked_before(call, scope)
    if known is None:
        inputs[call.location.key] = CallInput(call.digest, execution, asked)
        return None
    if asked.continues:
        known.asked, known.answers, known.is_answered = asked, {}, False
        return None
    if known.rounds == MAX_ROUNDS:
        forget_question(call, scope)
        message = f"{call.skill} has asked {MAX_ROUNDS} times and still does not answer"
        return Outcome.failed(FailureType.INPUT_REQUIRED, message)
    known.asked = asked
    known.is_answered = False
    known.rounds += 1
    return None


def forget_question(call: InteractiveCall, scope: Scope) -> None:
    """Drop what a call has asked."""
    inputs = scope.state.progress.call_inputs
    if inputs:
        inputs.pop(call.location.key, None)


def _input_asked_before(call: InteractiveCall, scope: Scope) -> CallInput | None:
    """Return what this call has asked; a call with another input is another call."""
    inputs = scope.state.progress.call_inputs
    if not inputs:
        return None
    known = inputs.get(call.location.key)
    return known if known is not None and known.call == call.digest else None


def _terms(terms: DecisionTerms, asked: AskedInput) -> ApprovalTerms:
    """Return the terms of a question: an answer counts for one call, so none is remembered."""
    own = {name: getattr(terms, name) for name in DecisionTerms.model_fields}
    made = {**own, "remember": False, "editable": True, "schema": input_form(asked)}
    return ApprovalTerms.model_validate(made)
