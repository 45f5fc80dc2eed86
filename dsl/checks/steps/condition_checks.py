"""Conditions on the data of tasks, held against the schemas that their agents declare."""

from collections.abc import Iterator

from pydantic import JsonValue

from dsl.checks.steps.known_answers import schema_at
from dsl.errors import nearest
from dsl.evaluate.because import brief
from dsl.logic.ranges_of_values import Claim, possible
from dsl.model.conditions import Operator, TaskField
from dsl.paths import MISSING, parse
from dsl.source.nodes import Node, Problems
from dsl.values import Json, NodePath

_TYPES = {
    "string": ("string", "a text"),
    "number": ("number", "a number"),
    "integer": ("integer", "a whole number"),
    "boolean": ("boolean", "true or false"),
    "array": ("list", "a list"),
    "object": ("mapping", "a mapping"),
    "null": ("null", "null"),
}
"""`{type of JSON Schema: (what `is_type` calls it, how a sentence calls it)}`."""

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


def check_data(
    leaf: TaskField, schema: JsonValue, tree: Node, problems: Problems, path: NodePath
) -> None:
    """Note a condition that the declared data can never meet, or that it always meets.

    Args:
        leaf: what the condition asks.
        schema: of all data of the task; None when nothing is declared.
        tree: of the document.
        problems: where it is noted, unless the condition has a problem already.
        path: where the condition stands.
    """
    here = schema_at(schema, parse(leaf.output_field))
    if here is None or any(problems.below(path)):
        return
    always = leaf.operator == "not_equals"
    operator = "equals" if always else leaf.operator
    if possible_in(here, operator, leaf.value):
        return
    place = (*path, "value" if "value" in leaf.model_fields_set else "operator")
    problems.add(
        "E404",
        tree.find(place).mark,
        place,
        f"the condition {'always' if always else 'never'} holds: {leaf.output_field} of task "
        f"{leaf.task!r} is {_told(here)}, and {leaf.operator!r} compares with {brief(leaf.value)}",
        allowed=", ".join(map(brief, _few(here) or ())),
        fix=_fix(here, operator, leaf.value),
    )


def possible_in(schema: Json, operator: Operator, value: JsonValue) -> bool:
    """Whether data of the schema, or that there is none, can make the operator hold.

    Sound: "no" is certain. Where the schema does not say what the data is, all is possible.
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
        possible([claim, Claim("is_type", _TYPES[name][0]), *_bounds(schema, name)])
        for name in types
    )


def _few(schema: Json) -> list[JsonValue] | None:
    """All values that there are, when the schema lists them."""
    if "const" in schema:
        return [schema["const"]]
    listed = schema.get("enum")
    return listed if isinstance(listed, list) else None


def _types(schema: Json) -> list[str]:
    """The types that the schema allows; none when it does not say, or says it wrongly."""
    written = schema.get("type")
    names = written if isinstance(written, list) else [written]
    known = [name for name in names if isinstance(name, str) and name in _TYPES]
    return known if len(known) == len(names) else []


def _bounds(schema: Json, name: str) -> Iterator[Claim]:
    for key, operator in _BOUNDS.get(name, ()):
        bound = schema.get(key)
        if isinstance(bound, int | float) and not isinstance(bound, bool):
            yield Claim(operator, bound)


def _told(schema: Json) -> str:
    few = _few(schema)
    if few is not None:
        return ("one of " if len(few) > 1 else "") + ", ".join(map(brief, few))
    bounds = ", ".join(
        f"{key} {brief(schema[key])}"
        for name in _types(schema)
        for key, _ in _BOUNDS.get(name, ())
        if key in schema
    )
    told = " or ".join(_TYPES[name][1] for name in _types(schema))
    return f"{told} ({bounds})" if bounds else told


def _fix(schema: Json, operator: Operator, value: JsonValue) -> str:
    if not isinstance(value, str):
        return ""
    words = [item for item in _few(schema) or () if isinstance(item, str)]
    meant = next((word for word in words if word.lower() == value.lower()), None)
    if meant is not None:
        return f"did you mean {meant!r}?"
    number = _number(value)
    if number is not None and possible_in(schema, operator, number):
        return f"write {value} without quotes"
    return nearest(value, words)


def _number(text: str) -> float | None:
    try:
        return float(text) if text.lstrip("-")[:1].isdigit() else None
    except ValueError:
        return None
