"""Output approval: a person approves the input of a step, or accepts its output."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from pydantic import JsonValue

from coterie.dsl.egress.egress_rules import shows_arguments
from coterie.dsl.errors import TemplateFailed
from coterie.dsl.evaluate.condition_evaluation import holds, inspect
from coterie.dsl.model.decision_terms import NEVER, CallApproval
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.dsl.templates.template_filling import fill
from coterie.workflows.approvals.approval_wait import PersonRequest, ask, with_input
from coterie.workflows.approvals.decisions import is_approved, rejected
from coterie.workflows.approvals.egress_approval import approve_call
from coterie.workflows.core.causes.people_causes import ApprovalAsked, ApprovalNotAsked
from coterie.workflows.core.location import Location
from coterie.workflows.core.requests import Decision, PlannedCall
from coterie.workflows.core.scope import Scope
from coterie.workflows.core.trail import note_request


class ApprovalSubject(NamedTuple):
    """What a person approves."""

    given: JsonValue
    """The input: shown before the work, and changed if the terms allow it."""
    allow: str
    """The question before, unless the terms have their own."""
    accept: str
    """The question after."""
    shown: JsonValue = None
    """Shown instead if there is no input; nobody can change it."""
    tool: str | None = None
    """The tool, if it is a call of one. Then `prompt` and `show` of the terms are plain text, not
    templates, the condition sees only the call, and a remembered approval holds for each call.
    """
    call: PlannedCall | None = None
    """The call that would run, if it may change something."""
    sends: bool = False
    """Whether the input leaves the system: an approval of it then also lets it out."""


class _MustAsk(NamedTuple):
    """A person is asked."""

    because: ApprovalAsked | None = None
    """What the condition found; None without one, or if the question is open already."""


async def with_approval(
    terms: CallApproval,
    subject: ApprovalSubject,
    location: Location,
    scope: Scope,
    work: Callable[[JsonValue], Awaitable[Outcome]],
) -> Outcome:
    """Do the work, with a person's approval before or after it.

    On resume, neither the question nor finished work repeats.
    """
    if terms.at == "after":
        return await _with_acceptance(terms, subject, location, scope, work)
    progress, key = scope.state.progress, location.key
    asks = None if key in progress.approved_inputs else _must_ask(terms, subject, location, scope)
    if asks is None:
        progress.approved_inputs.setdefault(key, subject.given)
    else:
        shown_value = subject.given if subject.given is not None else subject.shown
        decision = await _ask(terms, subject, location, scope, subject.allow, shown_value, asks)
        if not is_approved(decision):
            return rejected(decision)
        allowed = decision.payload if terms.editable else subject.given
        progress.approved_inputs[key] = allowed
        if subject.sends and shows_arguments(terms):
            approve_call(decision, allowed, location, scope)
    outcome = await work(progress.approved_inputs[key])
    progress.approved_inputs.pop(key, None)
    return outcome


async def _with_acceptance(
    terms: CallApproval,
    subject: ApprovalSubject,
    location: Location,
    scope: Scope,
    work: Callable[[JsonValue], Awaitable[Outcome]],
) -> Outcome:
    """Do the work, and let a person accept its output."""
    outputs, key = scope.state.progress.outputs_to_approve, location.key
    outcome = outputs.get(key)
    if outcome is None:
        outcome = outputs[key] = await work(subject.given)
    asks = _must_ask(terms, subject, location, scope, outcome) if outcome.success else None
    if asks is not None:
        shown_value = _shown_result(outcome, editable=terms.editable)
        decision = await _ask(terms, subject, location, scope, subject.accept, shown_value, asks)
        if not is_approved(decision):
            outcome = rejected(decision)
        elif terms.editable:
            outcome = Outcome.succeeded(decision.payload)
    outputs.pop(key, None)
    return outcome


def _shown_result(outcome: Outcome, *, editable: bool) -> JsonValue:
    """Return what people decide on; what they edit has no text beside it, and replaces both."""
    if editable or not outcome.text:
        return outcome.data
    return {"result": outcome.data, "text": outcome.text}


def _must_ask(
    terms: CallApproval,
    subject: ApprovalSubject,
    location: Location,
    scope: Scope,
    outcome: Outcome | None = None,
) -> _MustAsk | None:
    """Return why a person is asked, also if the condition fails, or the question is open.

    If nobody is asked, it is None, and the trail says why.
    """
    if terms.when is None or location.key in scope.state.progress.requests:
        return _MustAsk()
    if terms.when == NEVER:
        return None
    facts = location.facts(scope)
    if subject.tool is not None:
        call: dict[str, JsonValue] = {"arguments": subject.given}
        facts = Facts({}, variables=call, budget=facts.budget, work=facts.work)
    if outcome is not None:
        facts = facts.with_result(location.name, outcome)
    try:
        condition = inspect(terms.when, facts)
        if holds(terms.when, facts):
            return _MustAsk(ApprovalAsked("approval_asked", str(location.step), condition))
    except TemplateFailed as error:
        failure = Failure(type(error).__name__, str(error))
        return _MustAsk(ApprovalAsked("approval_asked", str(location.step), failure=failure))
    cause = ApprovalNotAsked("not_asked", str(location.step), condition)
    note_request(scope, location, cause.code, cause)
    return None


async def _ask(
    terms: CallApproval,
    subject: ApprovalSubject,
    location: Location,
    scope: Scope,
    question: str,
    shown_value: JsonValue,
    asks: _MustAsk,
) -> Decision | None:
    prompt, show = terms.prompt, terms.show
    if subject.tool is None and (prompt is not None or show is not None):
        names = location.facts(scope).names()
        prompt = None if prompt is None else str(fill(prompt, names))
        show = fill(show, names)
    call = subject.call if terms.at == "before" else None
    if call is not None and show is not None and not terms.editable:  # what is edited would run
        call = with_input(call, subject.given)
    request = PersonRequest(
        prompt or question,
        shown_value if show is None else show,
        terms,
        tool=subject.tool,
        call=call,
        asked=asks.because,
    )
    return await ask(scope, location, request)
