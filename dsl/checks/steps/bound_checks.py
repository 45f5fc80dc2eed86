"""Bounds that a template gives: each has a maximum, its own or that of a declared path."""

import math
from collections.abc import Iterator

from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.model.context.declarations import Declarations, declared_at
from coterie.dsl.model.steps import Step
from coterie.dsl.model.template_bound import (
    AnyBound,
    BoundKey,
    BoundTemplate,
    TemplateBound,
    TemplateDuration,
)
from coterie.dsl.model.traversal.step_bounds import bounds_of, with_bound
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.problem_texts import Found, OutOfBounds, WrongValue, called
from coterie.dsl.templates.jsonable import brief
from coterie.dsl.templates.template import is_template, parse, plain_path
from coterie.dsl.templates.template_rules import BadTemplate
from coterie.dsl.values import NodePath


def check_bounds(scope: StepScope, step: Step, path: NodePath) -> None:
    """Note every bound of a step whose template has no maximum, or is none."""
    for key, bound in bounds_of(step):
        check_bound(scope, called(step.name), key, bound, (*path, *key.path))


@rule("E103")
def not_a_bound(found: str, *, is_length: bool) -> ProblemText:
    what = "a duration or a template" if is_length else "a whole number or one template"
    number, maximum = ("90s", "10m") if is_length else ("5", "10")
    return ProblemText(
        f"a bound is {what} for it, not {found}",
        fix=f'write `{number}`, or `{{value: "{{{{ ... }}}}", maximum: {maximum}}}`',
    )


@rule("E102")
def bound_without_maximum(
    owner: str, key: str, template: str, path: tuple[str, ...] | None, *, is_length: bool
) -> ProblemText:
    maximum, seconds = ("10m", "maximum: 600") if is_length else ("10", "maximum: 10")
    declared = "" if path is None else f", or declare {'.'.join(path)!r} with `{seconds}`"
    return ProblemText(
        f"`{key}` of {owner} is a template without a maximum, so nothing bounds a run",
        fix=f'write `{key}: {{value: "{template}", maximum: {maximum}}}`{declared}',
    )


def check_bound(
    scope: StepScope, owner: str, key: BoundKey, bound: AnyBound, path: NodePath
) -> None:
    """Note a template without a maximum, one with too large a maximum, and a text that is none."""
    length = _is_length(key)
    match bound:
        case TemplateBound(value=text) | TemplateDuration(value=text):
            if not _gives_a_bound(text, key):
                key_path = (*path, "value")
                details = not_a_bound(brief(text), is_length=length)
                scope.report_value(details, key_path)
            if bound.maximum > key.high:
                key_path = (*path, "maximum")
                value = Found("scalar", bound.maximum)
                details = OutOfBounds(WrongValue("maximum"), value, "at most", key.high)
                scope.report_value(details, key_path)
        case str() if not _gives_a_bound(bound, key):
            scope.report(not_a_bound(brief(bound), is_length=length), path)
        case str() if isinstance(with_maximum(key, bound, scope.outputs.context), str):
            if not scope.problems.has("E301", path) and not scope.problems.has("E302", path):
                details = bound_without_maximum(
                    owner, str(path[-1]), bound, _context_path(bound), is_length=length
                )
                scope.report(details, path)
        case _:
            pass


def with_maxima(step: Step, declared: Declarations) -> Step:
    """Return the step with the maximum of each bound that is the template of a context path."""
    for key, bound in _context_templates(step):
        step = with_bound(step, key, with_maximum(key, bound, declared))
    return step


def with_maximum(key: BoundKey, bound: str, declared: Declarations) -> str | BoundTemplate:
    """Return the bound with the maximum that the schema of its context path has, if it has one."""
    path = _context_path(bound)
    name = None if path is None else declared_at(path, declared)
    maximum = None if name is None else declared[name].schema_.get("maximum")
    if not isinstance(maximum, int | float):
        return bound
    limit = min(maximum, key.high)
    if _is_length(key):
        return TemplateDuration(value=bound, maximum=limit) if limit > 0 else bound
    return TemplateBound(value=bound, maximum=math.floor(limit)) if limit >= 1 else bound


def _context_templates(step: Step) -> Iterator[tuple[BoundKey, str]]:
    return ((key, bound) for key, bound in bounds_of(step) if isinstance(bound, str))


def _is_length(key: BoundKey) -> bool:
    """Whether the bound is a duration, and not a number."""
    return key.unit in ("timeout", "deadline")


def _context_path(text: str) -> tuple[str, ...] | None:
    """Return the path below `context` that the template is, and nothing else."""
    path = plain_path(text)
    return path[1:] if path is not None and path[0] == "context" and len(path) > 1 else None


def _gives_a_bound(text: str, key: BoundKey) -> bool:
    """Whether the text is a template for a number, or, for a duration, contains one."""
    try:
        return is_template(text) and (_is_length(key) or parse(text).single)
    except BadTemplate:
        return True  # reported with all other templates
