"""A loop over a list, or while or until a condition holds."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from typing_extensions import override

from coterie.dsl.checks.steps.loop_checks import check_loop
from coterie.dsl.checks.steps.several_calls_checks import check_calls
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.kinds.key_rules import has, none_of
from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import LoopStep
from coterie.dsl.values import Json, NodePath


class LoopKind(Kind[LoopStep]):
    """A loop over a list, or while or until a condition holds."""

    sign = "M13 8a5 5 0 1 1-1.5-3.5M13 2v3h-3"
    beginning = "loop "
    limits: ClassVar = {
        "max_iterations": "rounds",
        "concurrency": "rounds at once",
    }
    key_rules: ClassVar[Sequence[Json]] = [
        {"anyOf": [has("iterate_on"), has("while"), has("until")]},
        {"anyOf": [has("iterate_on"), has("max_iterations")]},
        {"dependentRequired": {"iterate_on": ["loop_variable"]}},
        {
            "if": {"not": has("iterate_on")},
            "then": {"properties": {"concurrency": {"maximum": 1}}},
        },
        {
            "if": {"not": none_of("while", "until", "break_when")},
            "then": {"properties": {"concurrency": {"maximum": 1}}},
        },
    ]
    written_keys: ClassVar[Json] = {
        "iterate_on": {
            "description": "A list, or a template that gives one.",
            "anyOf": [{"type": "array"}, {"type": "string", "pattern": r"\{\{"}, {"type": "null"}],
        }
    }

    @override
    def check(self, scope: StepScope, step: LoopStep, path: NodePath) -> None:
        check_loop(scope, step, path)
        check_calls(scope, step, path)

    @override
    def details(self, step: LoopStep, plan: Plan, words: StepWords) -> Iterable[str]:
        if step.iterate_on is not None:
            yield f"over {words.value(step.iterate_on)}"
        asked = (("while", step.while_), ("until", step.until), ("leaves when", step.break_when))
        for word, condition in asked:
            if condition is not None:
                yield f"{word} {words.condition(condition)}"
        if step.max_iterations is not None:
            yield f"at most {words.counted_bound(step.max_iterations, 'round')}"
        if step.concurrency != 1:
            yield f"{words.number_bound(step.concurrency)} at once"
