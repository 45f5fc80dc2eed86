"""A run of another team."""

from collections.abc import Iterable

from typing_extensions import override

from coterie.dsl.checks.steps.context_paths import check_team_input
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import TeamStep
from coterie.dsl.values import NodePath


class TeamKind(Kind[TeamStep]):
    """A run of another team."""

    sign = "M2.5 3h5v4h-5zM8.5 9h5v4h-5zM7.5 5H11v4"
    beginning = ""

    @override
    def check(self, scope: StepScope, step: TeamStep, path: NodePath) -> None:
        if step.team not in scope.teams:
            scope.unknown("team", step.team, scope.teams, (*path, "team"))
        check_team_input(scope, step.input or {}, (*path, "input"))

    @override
    def details(self, step: TeamStep, plan: Plan, words: StepWords) -> Iterable[str]:
        return (f"runs {step.team}",)
