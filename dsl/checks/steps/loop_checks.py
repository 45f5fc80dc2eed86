"""Checks of loops: what they iterate on, that they end, and rounds that may be concurrent."""

import re

from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.checks.steps.write_conflicts import check_round_writes
from coterie.dsl.model.facts import CALL_VARIABLE
from coterie.dsl.model.steps import LoopStep, ToolStep
from coterie.dsl.model.template_bound import maximum_of
from coterie.dsl.normalise.several_calls import CALLED_TOOL
from coterie.dsl.source.nodes import Place
from coterie.dsl.templates.jsonable import brief
from coterie.dsl.templates.template import is_template, parse
from coterie.dsl.templates.template_rules import BadTemplate
from coterie.dsl.values import JsonValue, NodePath
from coterie.dsl.wording.steps.loop_wording import (
    condition_between_rounds,
    dependent_rounds,
    loop_variable_missing,
    loop_without_rounds,
    not_a_list,
    path_without_braces,
    unbounded_loop,
)

_PATH = re.compile(r"[A-Za-z_]\w*(?:\.\w+|\[\d+\])*\Z")


def check_loop(scope: StepScope, step: LoopStep, path: NodePath) -> None:
    """Check that a loop has rounds, and an end."""
    name = step.name
    has_condition = step.while_ is not None or step.until is not None
    if step.iterate_on is None and not has_condition:
        scope.report(loop_without_rounds(name), path)
    if step.iterate_on is not None:
        key = "calls" if is_of_calls(step) else "iterate_on"
        check_list(scope, step.iterate_on, (*path, "iterate_on"), key)
    if step.iterate_on is not None and step.loop_variable is None:
        mark = scope.tree.find(path).at
        scope.problems.report(loop_variable_missing(name), Place(mark, (*path, "loop_variable")))
    if step.iterate_on is None and has_condition and step.max_iterations is None:
        mark = scope.tree.find(path).at
        scope.problems.report(unbounded_loop(name), Place(mark, (*path, "max_iterations")))
    if maximum_of(step.concurrency) > 1:
        _concurrent(scope, step, (*path, "concurrency"))
    check_round_writes(scope, step, path)


def is_of_calls(step: LoopStep) -> bool:
    """Return whether a loop makes the `calls` of a tool step."""
    first = step.body[0]
    calls_each = isinstance(first, ToolStep) and first.tool == CALLED_TOOL
    return step.loop_variable == CALL_VARIABLE and calls_each


def _concurrent(scope: StepScope, step: LoopStep, path: NodePath) -> None:
    """Note concurrent rounds that would have to wait for each other."""
    conditions = {"while": step.while_, "until": step.until, "break_when": step.break_when}
    between = [key for key, condition in conditions.items() if condition is not None]
    if step.iterate_on is None:
        scope.report(dependent_rounds(step.name), path)
    elif between:
        scope.report(condition_between_rounds(step.name, between), path)


def check_list(scope: StepScope, over: JsonValue, path: NodePath, key: str) -> None:
    """Check that a loop iterates on a list, or on one expression that may give a list.

    Args:
        scope: of the step.
        over: the value.
        path: where it is written.
        key: what the author calls it.
    """
    if isinstance(over, list) or (isinstance(over, str) and is_one_template(over)):
        return
    if isinstance(over, str) and _PATH.match(over):
        scope.report_value(path_without_braces(key, over), path)
        return
    scope.report_value(not_a_list(key, brief(over)), path)


def is_one_template(text: str) -> bool:
    """Return whether a text is one template and nothing else; a broken one counts."""
    try:
        return is_template(text) and parse(text).single
    except BadTemplate:
        return True  # reported with all other templates
