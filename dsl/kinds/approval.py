"""A question to a person."""

from collections.abc import Iterable
from typing import ClassVar

from typing_extensions import override

from coterie.dsl.checks.approval_checks import no_deadline
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.decision_terms import DecisionTerms
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import ApprovalStep
from coterie.dsl.problem_texts import called
from coterie.dsl.values import NodePath


class ApprovalKind(Kind[ApprovalStep]):
    """A question to a person."""

    sign = (
        "M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5c.3-2.8 2-4 4.5-4 1 0 1.8.2 "
        "2.5.6M9.5 12l1.8 1.8 3.2-3.8"
    )
    beginning = "approval "
    limits: ClassVar = {
        "deadline": "for a person to decide",
        "quorum": "people who have to approve",
        "remind_every": "between reminders while nobody decides",
        "on_timeout": "what the deadline does, or the team that runs next",
    }

    @override
    def check(self, scope: StepScope, step: ApprovalStep, path: NodePath) -> None:
        if step.deadline is None and not scope.has_problem((*path, "deadline")):
            scope.report(no_deadline(called(step.name, "the approval")), path)

    @override
    def details(self, step: ApprovalStep, plan: Plan, words: StepWords) -> Iterable[str]:
        return asking(step, words)


def asking(terms: DecisionTerms, words: StepWords) -> tuple[str, ...]:
    """Return who decides, and until when."""
    who = f"by {', '.join(terms.approvers)}" if terms.approvers else "by anyone"
    if terms.deadline is None:
        return who, "no deadline"
    allowed = words.duration_bound(terms.deadline)
    return who, f"within {allowed}, else {terms.on_timeout}"
