"""An approval: the run waits for a person, however long it takes."""

from dsl.outcomes import Outcome
from dsl.steps import ApprovalStep
from dsl.templates import fill
from workflows.approvals import ask
from workflows.place import Place
from workflows.scope import Scope


async def execute(step: ApprovalStep, place: Place, scope: Scope) -> Outcome:
    """Ask; an approval is a success, a rejection a failure that routing may take care of."""
    names = place.facts(scope).names()
    prompt = fill(step.prompt, names)
    decision = await ask(
        scope,
        place,
        prompt if isinstance(prompt, str) else str(prompt),
        show=fill(step.show, names),
        approvers=step.approvers,
        deadline=step.deadline,
        on_timeout=step.on_timeout,
    )
    if decision is None:
        return Outcome.failed("NotDecided", "nobody decided in time")
    data = {"decision": decision.verdict, "by": decision.by, "comment": decision.comment,
            "at": decision.at}  # fmt: skip
    if decision.verdict == "approved":
        return Outcome.succeeded(data)  # type: ignore[arg-type]  # texts are JSON
    reason = decision.comment or "no reason given"
    return Outcome.failed("Rejected", f"{decision.by} rejected it: {reason}", data)  # type: ignore[arg-type]
