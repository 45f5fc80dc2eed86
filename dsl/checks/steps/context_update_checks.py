"""Checks of `context_updates`: their keys, their templates, and what operations are given."""

from typing import Protocol

from pydantic import JsonValue

from dsl.checks.steps.context_paths import check_declared
from dsl.checks.steps.outputs import Outputs
from dsl.evaluate.context_writes import OPERATIONS, written_value
from dsl.json_values import describe_kind
from dsl.source.nodes import Node, Problems
from dsl.templates.path_templates import key_segments
from dsl.templates.template import is_template
from dsl.values import Json, NodePath
from dsl.wording.update_wording import empty_segment, operand_misfit, several_operations


class TemplateChecks(Protocol):
    """What checks a template where it stands: `dsl.checks.steps.reference_checks.Checker`."""

    tree: Node
    problems: Problems
    outputs: Outputs

    def value(self, value: object, path: NodePath) -> None:
        """Check every template in a value."""
        ...

    def template(self, text: str, path: NodePath) -> None:
        """Check one template."""
        ...


def check_updates(here: TemplateChecks, updates: Json, path: NodePath) -> None:
    """Check the updates of a step, a rule or a team's routing."""
    for key, value in updates.items():
        place = (*path, key)
        _key(here, key, place)
        here.value(value, place)
        _operation(here, key, value, place)
        check_declared(here, key, value, place)


def _key(here: TemplateChecks, key: str, place: NodePath) -> None:
    segments = key_segments(key)
    for segment in segments:
        if is_template(segment):
            here.template(segment, place)
    if not segments or not all(segments):
        here.problems.note("E103", here.tree.find(place).at, place, empty_segment(key))


def _operation(here: TemplateChecks, key: str, value: JsonValue, place: NodePath) -> None:
    if isinstance(value, dict) and len(value) > 1 and all(name in OPERATIONS for name in value):
        here.problems.note(
            "E107", here.tree.find(place).at, place, several_operations(key, (*value,))
        )
    operation, operand = written_value(value)
    if operation is None or (isinstance(operand, str) and is_template(operand)):
        return
    if _fits(operation, operand):
        return
    where = (*place, operation)
    here.problems.note(
        "E103",
        here.tree.find(where).mark,
        where,
        operand_misfit(operation, key, describe_kind(operand)),
    )


def _fits(operation: str, operand: JsonValue) -> bool:
    match operation:
        case "extend":
            return isinstance(operand, list)
        case "merge":
            return isinstance(operand, dict)
        case "increment":
            return isinstance(operand, int | float) and not isinstance(operand, bool)
        case _:
            return True
