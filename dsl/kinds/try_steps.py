"""Steps whose failures are handled."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from typing_extensions import override

from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.json_schema.schema_parts import NOT_EMPTY, has
from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import TryStep
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.problem_texts import called
from coterie.dsl.values import Json, NodePath


@rule("E102")
def catches_nothing(step: str) -> ProblemText:
    return ProblemText(
        f"{called(step, 'the try')} catches nothing and has no finally",
        "catch, finally",
        "add one of these keys",
    )


@rule("E106")
def empty_clause() -> ProblemText:
    return ProblemText(
        "'error' is empty: the clause catches nothing",
        'at least one type of failure, or "*" for any',
        'write `error: "*"` to catch every failure',
    )


CATCH_KEYS: Json = {"properties": {"error": {"minItems": 1, "minLength": 1}}}
"""The same, as JSON Schema for editors."""


class TryKind(Kind[TryStep]):
    """Steps whose failures are handled."""

    sign = "M8 2l5 1.8v4.4c0 2.8-2 4.8-5 5.8-3-1-5-3-5-5.8V3.8z"
    beginning = "try "
    key_rules: ClassVar[Sequence[Json]] = [
        {"anyOf": [{**has(key), "properties": {key: NOT_EMPTY}} for key in ("catch", "finally")]}
    ]

    @override
    def check(self, scope: StepScope, step: TryStep, path: NodePath) -> None:
        if not step.catch and not step.finally_:
            scope.report(catches_nothing(step.name), path)
        for index, clause in enumerate(step.catch):
            if not clause.error:
                key_path = (*path, "catch", index, "error")
                scope.report_value(empty_clause(), key_path)

    @override
    def details(self, step: TryStep, plan: Plan, words: StepWords) -> Iterable[str]:
        return ()
