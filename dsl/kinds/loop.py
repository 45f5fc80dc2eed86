"""A loop over a list, or while or until a condition holds."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from typing_extensions import override

from coterie.dsl.checks.steps.list_checks import check_list
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.checks.steps.write_conflicts import check_round_writes
from coterie.dsl.json_schema.schema_parts import has, none_of
from coterie.dsl.json_values import describe_kind
from coterie.dsl.kinds.kind import Kind, StepWords
from coterie.dsl.kinds.tool import check_tool
from coterie.dsl.model.facts import CALL_VARIABLE
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import LoopStep, ToolStep
from coterie.dsl.model.template_bound import maximum_of
from coterie.dsl.normalise.several_calls import CALLED_TOOL
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.problem_texts import called
from coterie.dsl.source.nodes import Place
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import UNREADABLE, Json, JsonValue, NodePath

_KEYS = ("tool", "arguments")
"""Of a call."""


@rule("E102")
def loop_without_rounds(step: str) -> ProblemText:
    return ProblemText(
        f"{called(step, 'the loop')} has no list and no condition",
        "iterate_on, while, until",
        "add one of these keys",
    )


@rule("E102")
def loop_variable_missing(step: str) -> ProblemText:
    return ProblemText(
        f"the key 'loop_variable' is missing: nothing names the item of {called(step)}",
        fix="add `loop_variable: item`",
    )


@rule("E102")
def unbounded_loop(step: str) -> ProblemText:
    return ProblemText(f"{called(step, 'the loop')} has no bound", fix="add `max_iterations: 10`")


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
        name = step.name
        has_condition = step.while_ is not None or step.until is not None
        if step.iterate_on is None and not has_condition:
            scope.report(loop_without_rounds(name), path)
        if step.iterate_on is not None:
            key = "calls" if _is_of_calls(step) else "iterate_on"
            check_list(scope, step.iterate_on, (*path, "iterate_on"), key)
        if step.iterate_on is not None and step.loop_variable is None:
            place = Place(scope.tree.find(path).at, (*path, "loop_variable"))
            scope.problems.report(loop_variable_missing(name), place)
        if step.iterate_on is None and has_condition and step.max_iterations is None:
            mark = scope.tree.find(path).at
            scope.problems.report(unbounded_loop(name), Place(mark, (*path, "max_iterations")))
        if maximum_of(step.concurrency) > 1:
            _concurrent(scope, step, (*path, "concurrency"))
        check_round_writes(scope, step, path)
        if _is_of_calls(step) and isinstance(step.iterate_on, list):
            for index, call in enumerate(step.iterate_on):
                _check_call(scope, step.name, call, (*path, "iterate_on", index))

    @override
    def details(self, step: LoopStep, plan: Plan, words: StepWords) -> Iterable[str]:
        if step.iterate_on is not None:
            yield f"over {words.value(step.iterate_on)}"
        conditions = (
            ("while", step.while_),
            ("until", step.until),
            ("leaves when", step.break_when),
        )
        for word, condition in conditions:
            if condition is not None:
                yield f"{word} {words.condition(condition)}"
        if step.max_iterations is not None:
            yield f"at most {words.counted_bound(step.max_iterations, 'round')}"
        if step.concurrency != 1:
            yield f"{words.number_bound(step.concurrency)} at once"


def _is_of_calls(step: LoopStep) -> bool:
    """Return whether a loop makes the `calls` of a tool step."""
    first = step.body[0]
    calls_each = isinstance(first, ToolStep) and first.tool == CALLED_TOOL
    return step.loop_variable == CALL_VARIABLE and calls_each


@rule("E107")
def dependent_rounds(step: str) -> ProblemText:
    return ProblemText(
        f"each round of {called(step)} needs the one before it, so they cannot run at once",
        fix="use `iterate_on`, or remove `concurrency`",
    )


@rule("E107")
def condition_between_rounds(step: str, keys: Sequence[str]) -> ProblemText:
    named = " and ".join(f"`{key}`" for key in keys)
    return ProblemText(
        f"concurrent rounds of {called(step)} cannot stop by {named}, which a round decides for "
        "the next one",
        fix=f"remove `concurrency`, or {named}",
    )


def _concurrent(scope: StepScope, step: LoopStep, path: NodePath) -> None:
    """Note concurrent rounds that would have to wait for each other."""
    conditions = {"while": step.while_, "until": step.until, "break_when": step.break_when}
    between = [key for key, condition in conditions.items() if condition is not None]
    if step.iterate_on is None:
        scope.report(dependent_rounds(step.name), path)
    elif between:
        scope.report(condition_between_rounds(step.name, between), path)


_CALL = "a mapping with `tool` and `arguments`, or a template for one"


@rule("E103")
def not_a_call(kind: str) -> ProblemText:
    return ProblemText(
        f"an item of `calls` is {kind}", _CALL, "write `{tool: NAME, arguments: {...}}`"
    )


@rule("E102")
def call_without_tool() -> ProblemText:
    return ProblemText("an item of `calls` has no `tool`", _CALL, "add `tool:` with a tool's name")


def _check_call(scope: StepScope, name: str, call: JsonValue, path: NodePath) -> None:
    """Check a written call like that of a step; a template is known only in the run."""
    if isinstance(call, str) and (is_template(call) or call == UNREADABLE):
        return
    if not isinstance(call, dict):
        scope.report_value(not_a_call(describe_kind(call)), path)
        return
    for key in call.keys() - _KEYS:
        scope.unknown("key", key, _KEYS, (*path, key))
    tool = call.get("tool")
    if not isinstance(tool, str):
        scope.report_value(call_without_tool(), path)
        return
    check_tool(
        scope, ToolStep(kind="tool", name=name, tool=tool, arguments=_arguments_of_call(call)), path
    )


def _arguments_of_call(call: Json) -> Json | str:
    """Return the arguments of a call; a template for them is checked as a text."""
    arguments = call.get("arguments")
    return arguments if isinstance(arguments, dict | str) else {}
