"""Conditions on the data of tasks, checked against the schemas that their agents declare."""

from collections.abc import Iterator

from pydantic import JsonValue

from dsl.checks.contracts.known_answers import schema_at
from dsl.checks.contracts.outputs import Declared, Outputs
from dsl.errors import closest
from dsl.evaluate.because import brief
from dsl.logic.ranges_of_values import Claim, possible
from dsl.model.conditions import Condition, ContextField, Operator, TaskField
from dsl.paths import MISSING, parse
from dsl.source.nodes import Node, Problems
from dsl.values import Json, NodePath
from dsl.wording.condition_wording import bounded, decided_condition, field_of_task, one_of
from dsl.wording.context_wording import context_path

_TYPES = {
    "string": "string",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "array": "list",
    "object": "mapping",
    "null": "null",
}
"""`{type of JSON Schema: its name in `is_type`}`."""

_BOUNDS: dict[str, tuple[tuple[str, Operator], ...]] = {
    "number": (
        ("minimum", "greater_or_equal"),
        ("maximum", "less_or_equal"),
        ("exclusiveMinimum", "greater_than"),
        ("exclusiveMaximum", "less_than"),
    ),
    "string": (("minLength", "min_length"), ("maxLength", "max_length")),
    "array": (("minItems", "min_length"), ("maxItems", "max_length")),
}
_BOUNDS["integer"] = _BOUNDS["number"]


def check_declared_data(
    leaf: Condition, outputs: Outputs, tree: Node, problems: Problems, path: NodePath
) -> None:
    """Check a condition on data whose form is declared: of a task, or in the context."""
    match leaf:
        case TaskField(task=task, output_field=field):
            what = field_of_task(field, task)
            named = ("tasks", task, "data", *parse(field))
        case ContextField(context_field=field):
            what = context_path(field)
            named = ("context", *parse(field))
        case _:
            return
    declared = outputs.declared(named)
    if declared is not None:
        _check_data(leaf, what, declared, tree, problems, path)


def _check_data(
    leaf: TaskField | ContextField,
    what: str,
    declared: Declared,
    tree: Node,
    problems: Problems,
    path: NodePath,
) -> None:
    """Note a condition that the declared data never meets, or always meets.

    Args:
        leaf: the test of the condition.
        what: the field that it tests, as a sentence names it.
        declared: the form of the data, and the field in it.
        tree: of the document.
        problems: collects the findings; a condition that already has a problem gets no other.
        path: where the condition is written.
    """
    here = schema_at(declared.schema, declared.path)
    if here is None or any(problems.below(path)):
        return
    always = leaf.operator == "not_equals"
    operator = "equals" if always else leaf.operator
    if possible_in(here, operator, leaf.value):
        return
    place = (*path, "value" if "value" in leaf.model_fields_set else "operator")
    details = decided_condition(
        what,
        _data(here),
        leaf.operator,
        brief(leaf.value),
        allowed=[brief(value) for value in _few(here) or ()],
        meant=_meant(here, leaf.value),
        unquoted=_unquoted(here, operator, leaf.value),
        always=always,
    )
    problems.note("E404", tree.find(place).mark, place, details)


def possible_in(schema: Json, operator: Operator, value: JsonValue) -> bool:
    """Return whether data of the schema, or its absence, can make the operator hold.

    Sound: "no" is certain. If the schema does not restrict the data, everything is possible.
    """
    claim = Claim(operator, value)
    if claim.fits(MISSING):
        return True
    few = _few(schema)
    if few is not None:
        return any(claim.fits(item) for item in few)
    types = _types(schema)
    if not types:
        return True
    return any(
        possible([claim, Claim("is_type", _TYPES[name]), *_bounds(schema, name)]) for name in types
    )


def _few(schema: Json) -> list[JsonValue] | None:
    """Return all possible values, if the schema lists them."""
    if "const" in schema:
        return [schema["const"]]
    listed = schema.get("enum")
    return listed if isinstance(listed, list) else None


def _types(schema: Json) -> list[str]:
    """Return the types that the schema allows; none if it does not restrict them, or is invalid."""
    written = schema.get("type")
    names = written if isinstance(written, list) else [written]
    known = [name for name in names if isinstance(name, str) and name in _TYPES]
    return known if len(known) == len(names) else []


def _bounds(schema: Json, name: str) -> Iterator[Claim]:
    for key, operator in _BOUNDS.get(name, ()):
        bound = schema.get(key)
        if isinstance(bound, int | float) and not isinstance(bound, bool):
            yield Claim(operator, bound)


def _data(schema: Json) -> str:
    few = _few(schema)
    if few is not None:
        return one_of([brief(value) for value in few])
    types = _types(schema)
    bounds = [
        (key, brief(schema[key]))
        for name in types
        for key, _ in _BOUNDS.get(name, ())
        if key in schema
    ]
    return bounded(types, bounds)


def _words(schema: Json) -> list[str]:
    return [value for value in _few(schema) or () if isinstance(value, str)]


def _meant(schema: Json, value: JsonValue) -> str | None:
    """Return the nearest word of the schema's list."""
    if not isinstance(value, str):
        return None
    words = _words(schema)
    same = next((word for word in words if word.lower() == value.lower()), None)
    return same or closest(value, words)


def _unquoted(schema: Json, operator: Operator, value: JsonValue) -> str | None:
    """Return the text, if without its quotes it is a number that the data can be."""
    if not isinstance(value, str) or value.lower() in map(str.lower, _words(schema)):
        return None
    number = _number(value)
    fits = number is not None and possible_in(schema, operator, number)
    return value if fits else None


def _number(text: str) -> float | None:
    try:
        return float(text) if text.lstrip("-")[:1].isdigit() else None
    except ValueError:
        return None
