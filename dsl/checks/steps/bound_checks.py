"""Bounds that a template gives: each has a maximum, its own or that of a declared path."""

import math
from typing import Protocol

from dsl.checks.steps.outputs import Outputs
from dsl.evaluate.because import brief
from dsl.model.context.declarations import Declarations, declared_at
from dsl.model.sections.template_bound import MAX_BOUND, TemplateBound
from dsl.source.nodes import Node, Problems
from dsl.templates.template import is_template, parse, plain_path
from dsl.templates.template_rules import BadTemplate
from dsl.values import NodePath
from dsl.wording.step_wording import bound_without_maximum, not_a_bound


class BoundUser(Protocol):
    """What a check needs to know; see `reference_checks.Checker`."""

    tree: Node
    problems: Problems
    outputs: Outputs


def check_bound(
    here: BoundUser, step: str, bound: int | TemplateBound | str | None, path: NodePath
) -> None:
    """Note a template without a maximum, and a `value` that is not one template."""
    mark = here.tree.find(path).at
    match bound:
        case TemplateBound(value=text) if not _gives_a_number(text):
            place = (*path, "value")
            at = here.tree.find(place).mark
            here.problems.note("E103", at, place, not_a_bound(brief(text)))
        case str() if not _gives_a_number(bound):
            here.problems.note("E103", mark, path, not_a_bound(brief(bound)))
        case str() if isinstance(with_maximum(bound, here.outputs.context), str):
            if not here.problems.has("E301", path) and not here.problems.has("E302", path):
                key = str(path[-1])
                details = bound_without_maximum(step, key, bound, _context_path(bound))
                here.problems.note("E102", mark, path, details)
        case _:
            pass


def with_maximum(
    bound: int | TemplateBound | str, declared: Declarations
) -> int | TemplateBound | str:
    """Return the bound with the maximum that the schema of its context path has, if it has one."""
    path = None if not isinstance(bound, str) else _context_path(bound)
    if not isinstance(bound, str) or path is None:
        return bound
    name = declared_at(path, declared)
    maximum = None if name is None else declared[name].schema_.get("maximum")
    if not isinstance(maximum, int | float) or maximum < 1:
        return bound
    return TemplateBound(value=bound, maximum=min(math.floor(maximum), MAX_BOUND))


def _context_path(text: str) -> tuple[str, ...] | None:
    """Return the path below `context` that the template is, and nothing else."""
    path = plain_path(text)
    return path[1:] if path is not None and path[0] == "context" and len(path) > 1 else None


def _gives_a_number(text: str) -> bool:
    try:
        return is_template(text) and parse(text).single
    except BadTemplate:
        return True  # reported with all other templates
