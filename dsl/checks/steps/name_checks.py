"""Checks of the names that steps have and give: each is unique, and none is reserved."""

import re
from collections.abc import Collection, Mapping, Sequence

from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.errors import listed
from coterie.dsl.model.facts import RESERVED, ROOTS
from coterie.dsl.model.steps import Step
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.nodes import Place
from coterie.dsl.values import UNREADABLE, NodePath

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")


def check_names(
    scope: StepScope,
    steps_with_paths: Sequence[tuple[Step, NodePath]],
    variables: Mapping[str, NodePath],
) -> None:
    """Check the names of all steps and of all variables that they set."""
    _unique_names(scope, steps_with_paths)
    _variable_names(scope, variables)
    _loop_variables(scope, scope.steps, scope.path, {})


@rule("E105")
def step_name_with_separator(name: str) -> ProblemText:
    return ProblemText(
        f"no step can be called {name!r}",
        "a name without / and #, which separate the parts of approval ids",
    )


@rule("E208")
def step_name_taken(name: str, line: int) -> ProblemText:
    return ProblemText(
        f"the name {name!r} is taken by the step on line {line}",
        fix="give each step of a team or plan its own name",
    )


def _unique_names(scope: StepScope, steps_with_paths: Sequence[tuple[Step, NodePath]]) -> None:
    first: dict[str, NodePath] = {}
    for step, path in steps_with_paths:
        key_path = (*path, "name")
        if "/" in step.name or "#" in step.name:
            scope.report_value(step_name_with_separator(step.name), key_path)
        if step.name in first and step.name != UNREADABLE:
            line = scope.at(first[step.name]).line
            scope.report_value(step_name_taken(step.name, line), key_path)
        first.setdefault(step.name, key_path)


@rule("E105")
def variable_name_refused(name: str, reserved: Collection[str]) -> ProblemText:
    why = "is a name of the language" if name in reserved else "is not an identifier"
    return ProblemText(
        f"no variable can be called {name!r}: it {why}",
        "letters, digits and _, but not " + listed(reserved),
    )


def _variable_names(scope: StepScope, variables: Mapping[str, NodePath]) -> None:
    for name, path in variables.items():
        reserved = name in ROOTS or name in RESERVED
        if reserved or not _IDENTIFIER.match(name):
            key_path = (*scope.path, *path)
            node = scope.tree.find(key_path)
            scope.problems.report(
                variable_name_refused(name, (*ROOTS, *RESERVED)),
                Place(node.at if "values" in path else node.mark, key_path),
            )


@rule("E208")
def loop_variable_taken(name: str, loop: str) -> ProblemText:
    return ProblemText(
        f"{name!r} is already the item of {loop!r} around this one",
        fix="give the inner item its own name",
    )


def _loop_variables(
    scope: StepScope, steps: Sequence[Step], path: NodePath, outer_items: Mapping[str, str]
) -> None:
    """Note a loop whose item has the name of an outer loop's item, which it would hide."""
    for index, step in enumerate(steps):
        here = (*path, index)
        inner = dict(outer_items)
        for variable in (variable for variable in step.variables() if variable.exists == "within"):
            item = variable.name
            if item in outer_items:
                key_path = (*here, *variable.path)
                scope.report_value(loop_variable_taken(item, outer_items[item]), key_path)
            inner[item] = step.name
        for below in step.lists(here):
            _loop_variables(scope, below.steps, below.path, inner)
