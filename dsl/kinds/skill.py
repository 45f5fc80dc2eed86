"""A call of a skill."""

from collections.abc import Iterable

from typing_extensions import override

from coterie.dsl.checks.steps.step_call_checks import check_skill
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import SkillStep
from coterie.dsl.values import NodePath


class SkillKind(Kind[SkillStep]):
    """A call of a skill."""

    sign = "M9 2L3.5 9H8l-1 5 5.5-7H8z"
    beginning = "skill "

    @override
    def check(self, scope: StepScope, step: SkillStep, path: NodePath) -> None:
        check_skill(scope, step, path)

    @override
    def details(self, step: SkillStep, plan: Plan, words: StepWords) -> Iterable[str]:
        skill, terms = step.skill, step.terms
        return (skill if terms is None else f"{skill} ({terms.effect})",)
