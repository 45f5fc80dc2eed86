"""Checks of the `calls` of a tool step, as far as the document writes them."""

from coterie.dsl.checks.steps.loop_checks import is_of_calls
from coterie.dsl.checks.steps.step_call_checks import check_tool
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.json_values import describe_kind
from coterie.dsl.model.steps import LoopStep, ToolStep
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import UNREADABLE, Json, JsonValue, NodePath
from coterie.dsl.wording.tools.tool_wording import call_without_tool, not_a_call

_KEYS = ("tool", "arguments")


def check_calls(scope: StepScope, step: LoopStep, path: NodePath) -> None:
    """Check each written call like that of a step; a template is known only in the run."""
    if not is_of_calls(step) or not isinstance(step.iterate_on, list):
        return
    for index, call in enumerate(step.iterate_on):
        _check(scope, step.name, call, (*path, "iterate_on", index))


def _check(scope: StepScope, name: str, call: JsonValue, path: NodePath) -> None:
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
    given = call.get("arguments")
    return given if isinstance(given, dict | str) else {}
