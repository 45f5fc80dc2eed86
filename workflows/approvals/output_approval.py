"""Consent: a person allows what a step will send, or accepts what came of it."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from pydantic import JsonValue

from dsl.model.outcomes import Outcome
from dsl.model.terms import Consent
from dsl.templates.template_filling import fill
from workflows.approvals.approval_wait import ask, rejected
from workflows.core.location import Location
from workflows.core.requests import Decision
from workflows.core.scope import Scope


class ApprovalSubject(NamedTuple):
    """What a person is asked about."""

    given: JsonValue
    """What will be sent: shown before, and changed where the terms allow it."""
    allow: str
    """The question before, unless the terms have their own."""
    accept: str
    """The question after."""
    shown: JsonValue = None
    """What is shown instead where nothing is given: it cannot be changed."""
    literal: bool = False
    """Prompt and `show` of the terms are no templates."""


async def with_consent(
    terms: Consent,
    subject: ApprovalSubject,
    place: Location,
    scope: Scope,
    work: Callable[[JsonValue], Awaitable[Outcome]],
) -> Outcome:
    """Do the work, with a person's word before or after it.

    Who is resumed in the middle is not asked again, and does finished work not again.
    """
    progress, key = scope.state.progress, place.key
    if terms.when == "after":
        outcome = progress.outputs_to_approve.get(key)
        if outcome is None:
            outcome = progress.outputs_to_approve[key] = await work(subject.given)
        if outcome.success:
            decision = await _ask(terms, subject, place, scope, subject.accept, outcome.data)
            if decision is None or decision.verdict == "rejected":
                outcome = rejected(decision)
            elif terms.editable:
                outcome = Outcome.succeeded(decision.payload)
        progress.outputs_to_approve.pop(key, None)
        return outcome
    if key not in progress.approved_inputs:
        shown = subject.given if subject.given is not None else subject.shown
        decision = await _ask(terms, subject, place, scope, subject.allow, shown)
        if decision is None or decision.verdict == "rejected":
            return rejected(decision)
        progress.approved_inputs[key] = decision.payload if terms.editable else subject.given
    outcome = await work(progress.approved_inputs[key])
    progress.approved_inputs.pop(key, None)
    return outcome


async def _ask(
    terms: Consent,
    subject: ApprovalSubject,
    place: Location,
    scope: Scope,
    question: str,
    shown: JsonValue,
) -> Decision | None:
    prompt, show = terms.prompt, terms.show
    if not subject.literal and (prompt is not None or show is not None):
        names = place.facts(scope).names()
        prompt = None if prompt is None else str(fill(prompt, names))
        show = fill(show, names)
    return await ask(
        scope, place, prompt or question, show=shown if show is None else show, terms=terms
    )
