"""An approval: the run waits for a person, however long it takes."""

from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.steps import ApprovalStep
from coterie.dsl.templates.template_filling import fill
from coterie.workflows.approvals.approval_wait import PersonRequest, ask
from coterie.workflows.approvals.decisions import decision_data, is_approved, rejected
from coterie.workflows.approvals.egress_approval import clear_labels
from coterie.workflows.core.causes.people_causes import ApprovalAsked
from coterie.workflows.core.causes.step_causes import WhenAsked
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Scope


async def execute(
    step: ApprovalStep, when: WhenAsked | None, location: Location, scope: Scope
) -> Outcome:
    """Ask; an approval is a success, a rejection a failure for routing.

    Args:
        step: The step.
        when: What its `when` found as it held; None without one.
        location: Where the step is.
        scope: The run.
    """
    names = location.facts(scope).names()
    prompt = fill(step.prompt, names)
    prompt_text = prompt if isinstance(prompt, str) else str(prompt)
    cause = None
    if when is not None:
        cause = ApprovalAsked("approval_asked", str(location.step), when.condition)
    request = PersonRequest(prompt_text, fill(step.show, names), step, asked=cause)
    decision = await ask(scope, location, request)
    if decision is None:
        return rejected(decision)
    data = decision_data(decision)
    if step.editable:
        data["payload"] = decision.payload
    if is_approved(decision):
        if decision.how != "deadline" and scope.state.labels.met:
            clear_labels(location, scope)
        return Outcome.succeeded(data)
    return rejected(decision, data)
