"""An approval: the run waits for a person, however long it takes."""

from dsl.model.outcomes import Outcome
from dsl.model.steps import ApprovalStep
from dsl.templates.template_filling import fill
from workflows.approvals.approval_wait import PersonRequest, ask
from workflows.approvals.decisions import decision_data, is_approved, rejected
from workflows.approvals.egress_approval import clear_labels
from workflows.core.causes.people_causes import ApprovalAsked
from workflows.core.causes.step_causes import WhenAsked
from workflows.core.location import Location
from workflows.core.scope import Scope


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
    shown = prompt if isinstance(prompt, str) else str(prompt)
    asked = None
    if when is not None:
        asked = ApprovalAsked("approval_asked", str(location.step), when.condition)
    request = PersonRequest(shown, fill(step.show, names), step, asked=asked)
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
