"""Checks of values that must give a list."""

import re

from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.templates.jsonable import brief
from coterie.dsl.templates.template import is_template, parse
from coterie.dsl.templates.template_rules import BadTemplate
from coterie.dsl.values import JsonValue, NodePath

_PATH = re.compile(r"[A-Za-z_]\w*(?:\.\w+|\[\d+\])*\Z")


_LISTS = "a list, or one template expression that gives one"


@rule("E108")
def path_without_braces(key: str, path: str) -> ProblemText:
    return ProblemText(
        f"{key!r} is the path {path!r} without braces", _LISTS, f'write `"{{{{ {path} }}}}"`'
    )


@rule("E103")
def not_a_list(key: str, shown: str) -> ProblemText:
    return ProblemText(f"{key!r} is {shown}", _LISTS)


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
