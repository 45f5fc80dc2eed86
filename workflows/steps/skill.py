"""A tool function: one activity, run by the terms of its contract."""

from pydantic import JsonValue

from coterie.dsl.model.decision_terms import call_approval
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import FunctionStep
from coterie.dsl.model.template_bound import optional_seconds
from coterie.dsl.templates.template_filling import fill
from coterie.workflows.agents.function_calls import FunctionCall, call_function
from coterie.workflows.agents.tool_kinds import planned_call
from coterie.workflows.approvals.egress_approval import LabelledCall, end_call, refused_egress
from coterie.workflows.approvals.output_approval import ApprovalSubject, with_approval
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Scope


async def execute(step: FunctionStep, location: Location, scope: Scope) -> Outcome:
    """Call the tool function with its filled input, with an approval if the step requires one."""
    limit = optional_seconds(step.timeout)
    function_input = fill(step.input, location.facts(scope).names())
    labelled = LabelledCall.of_function(step.skill, step.terms)

    async def work(allowed: JsonValue) -> Outcome:
        if refused := await refused_egress(labelled, allowed, location, scope):
            return refused
        call = FunctionCall(step.skill, allowed, step.terms, limit)
        outcome = await call_function(call, location, scope)
        end_call(labelled, location, scope)
        return outcome

    terms = None if step.requires_approval is False else call_approval(step.requires_approval)
    if terms is None:
        return await work(function_input)
    subject = ApprovalSubject(
        given=function_input,
        allow=f"May {step.skill!r} be called by {step.name!r}?",
        accept=f"Is the result of {step.name!r} accepted?",
        call=planned_call(step.skill, step.terms),
        sends=labelled.sends,
    )
    return await with_approval(terms, subject, location, scope, work)
