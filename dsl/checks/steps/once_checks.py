"""Checks of `retry` around calls that must not happen twice."""

from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.model.capabilities import SkillContract
from coterie.dsl.model.steps import SkillStep, Step, ToolStep
from coterie.dsl.model.traversal.step_walk import walk
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.values import NodePath


@rule("W528")
def retry_of_once(step: str, called: str, own: bool) -> ProblemText:
    what = "the call" if own else f"{step!r}"
    return ProblemText(
        f"`retry` of {step!r} repeats {what} only while {called!r} has certainly not happened: its "
        "effect is `once`",
        fix="route `OutcomeUnknown` to a check of what happened; if a repeated call does no harm, "
        "give the tool the effect `read` or `idempotent`",
    )


def check_retry_of_once(scope: StepScope, step: Step, path: NodePath) -> None:
    """Warn of a `retry` that does not repeat a call in it once that may have happened."""
    if step.retry is None:
        return
    for inner, _ in walk((step,), path):
        called = _once_call(scope, inner)
        if called is not None:
            details = retry_of_once(step.name, called, inner is step)
            scope.report(details, (*path, "retry"))
            return


def _once_call(scope: StepScope, step: Step) -> str | None:
    """Return what a step calls, if its effect is `once`."""
    match step:
        case SkillStep(skill=name):
            contract: SkillContract | None = scope.capabilities.skills.get(name)
        case ToolStep(tool=name) if (section := scope.tools.get(name)) is not None:
            contract = scope.capabilities.contract_of(section.kind, section.made_of)
        case _:
            return None
    return name if contract is not None and contract.effect == "once" else None
