"""A call of a tool."""

from collections.abc import Iterable
from typing import ClassVar

from typing_extensions import override

from coterie.dsl.checks.steps.step_call_checks import check_tool
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import ToolStep
from coterie.dsl.values import NodePath


class ToolKind(Kind[ToolStep]):
    """A call of a tool."""

    sign = (
        "M10.5 2.5a3.2 3.2 0 0 0-3.8 4.2L2.5 11 5 13.5l4.3-4.2a3.2 3.2 0 0 0 4.2-3.8L11.5 "
        "7.5 9 7 8.5 4.5z"
    )
    beginning = "tool "
    limits: ClassVar = {
        "call_retries": "more attempts of the call, if the tool has as many",
    }

    @override
    def check(self, scope: StepScope, step: ToolStep, path: NodePath) -> None:
        check_tool(scope, step, path)

    @override
    def details(self, step: ToolStep, plan: Plan, words: StepWords) -> Iterable[str]:
        return (words.text(step.tool),)
