"""Checks of `context_updates`: their keys, their templates, and what operations are given."""

from pydantic import JsonValue

from coterie.dsl.checks.steps.context_paths import OPERATION_WORDS, check_declared
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.checks.steps.template_checks import OwnResult, check_template, check_value
from coterie.dsl.errors import listed
from coterie.dsl.evaluate.context_writes import OPERATIONS, Operation, written_value
from coterie.dsl.json_values import describe_kind
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.templates.path_templates import key_segments
from coterie.dsl.templates.template import is_template
from coterie.dsl.values import Json, NodePath


def check_updates(
    scope: StepScope, updates: Json, path: NodePath, own: OwnResult | None = None
) -> None:
    """Check the updates of a step, a rule or a team's routing."""
    for key, value in updates.items():
        key_path = (*path, key)
        check_value(scope, value, key_path, own)
        check_declared(scope, key, value, key_path)
        _key(scope, key, key_path, own)
        _operation(scope, key, value, key_path)


@rule("E103")
def empty_segment(path: str) -> ProblemText:
    return ProblemText(
        f"{path!r} is not a context path: a part of it is empty",
        "keys with dots between them, like `progress.{{ task.id }}.status`",
    )


def _key(scope: StepScope, key: str, path: NodePath, own: OwnResult | None) -> None:
    segments = key_segments(key)
    for segment in segments:
        if is_template(segment):
            check_template(scope, segment, path, own)
    if not segments or not all(segments):
        scope.report(empty_segment(key), path)


_TAKES = {
    "extend": ("a list", "write `append` to add one value"),
    "merge": (
        "a mapping",
        "write a mapping, or the value without `merge` to replace what is there",
    ),
    "increment": ("a number", "write a number, or a template that gives one"),
}


@rule("E103")
def operand_mismatch(operation: str, path: str, kind: str) -> ProblemText:
    operand, fix = _TAKES[operation]
    return ProblemText(
        f"`{operation}` takes {operand}, and the update of {path!r} gives it {kind}",
        f"{operand}, or a template for one",
        fix,
    )


@rule("E107")
def several_operations(path: str, names: tuple[str, ...]) -> ProblemText:
    return ProblemText(
        f"the update of {path!r} has the operations {listed(names)}, and one update has one",
        fix="write the updates in two steps, or the mapping as one template if it is the value",
    )


@rule("E107")
def misspelt(name: str, operation: str, path: str) -> ProblemText:
    value = "{{ {'" + name + "': ...} }}"
    return ProblemText(
        f"{name!r} is not an operation, and the update of {path!r} would store it as a value",
        listed(OPERATION_WORDS),
        f"did you mean {operation!r}? A value like this is written as a template: `{value}`",
    )


def _operation(scope: StepScope, key: str, value: JsonValue, path: NodePath) -> None:
    if isinstance(value, dict) and len(value) > 1 and all(name in OPERATIONS for name in value):
        scope.report(several_operations(key, (*value,)), path)
    operation, operand = written_value(value)
    if operation is None:
        slip = misspelt_operation(value)
        if slip is not None and not scope.problems.has("E405", path):
            scope.report(misspelt(*slip, key), (*path, slip[0]))
        return
    if not takes(operation, operand):
        details = operand_mismatch(operation, key, describe_kind(operand))
        scope.report_value(details, (*path, operation))


_WORDS = ("emerge", "extent", "remote", "verge")
"""Words of data that are one letter away from an operation."""


def misspelt_operation(value: JsonValue) -> tuple[str, Operation] | None:
    """Return the key of a mapping with one key, and the operation that it misspells.

    None if the mapping may be a value: its key is a word, or no operation takes what it holds.
    """
    if not isinstance(value, dict) or len(value) != 1:
        return None
    ((name, operand),) = value.items()
    word = name.lower()
    for operation in OPERATIONS:
        if name == operation or not takes(operation, operand):
            continue
        is_ending = word.startswith(operation) and word != operation  # `removed`
        if not is_ending and word not in _WORDS and _is_one_slip(word, operation):
            return name, operation
    return None


def takes(operation: str, operand: JsonValue) -> bool:
    """Whether an operation takes the value, or what its template may give."""
    if isinstance(operand, str) and is_template(operand):
        return True
    match operation:
        case "extend":
            return isinstance(operand, list)
        case "merge":
            return isinstance(operand, dict)
        case "increment":
            return isinstance(operand, int | float) and not isinstance(operand, bool)
        case _:
            return True


def _is_one_slip(word: str, candidate: str) -> bool:
    """Whether one letter is missing, added, wrong or swapped with its neighbour, at most."""
    if word == candidate:
        return True
    start = next((i for i, (a, b) in enumerate(zip(word, candidate, strict=False)) if a != b), None)
    if start is None:
        return abs(len(word) - len(candidate)) == 1
    rest, other_rest = word[start:], candidate[start:]
    return (
        rest[1:] == other_rest[1:]
        or rest[1:] == other_rest
        or rest == other_rest[1:]
        or (rest[:2] == other_rest[1::-1] and rest[2:] == other_rest[2:])
    )
