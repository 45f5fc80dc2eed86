"""Describe a team as a tool: JSON Schemas of its arguments and of its result. Pure."""

from collections.abc import Mapping
from typing import cast

from pydantic import JsonValue

from coterie.dsl.model.context.declarations import DeclaredPath
from coterie.dsl.model.plan import Plan
from coterie.dsl.paths import parse
from coterie.dsl.values import Json


def arguments_schema(plan: Plan) -> Json:
    """Return the schema of what a start must and may give: the declared context.

    A plan without declarations takes any context; then the schema names what its steps need.
    """
    if plan.context:
        schema = _object(closed=True)
        for path, one in plan.context.items():
            _put_schema(schema, parse(path), _leaf(path, one), required=one.required)
        return schema
    schema = _object(closed=False)
    for path in plan.needs:
        _put_schema(schema, parse(path), {}, required=True)
    return schema


def result_schema(plan: Plan) -> Json:
    """Return the schema of the result, as far as it is known: the keys of the declared output."""
    return _known_schema(plan.output)


def _known_schema(output: JsonValue) -> Json:
    if not isinstance(output, Mapping):
        return {}
    return {
        "type": "object",
        "properties": {key: _known_schema(value) for key, value in output.items()},
    }


def _leaf(path: str, one: DeclaredPath) -> Json:
    schema = dict(one.schema_)
    if _has_reference(schema):
        schema["$id"] = f"urn:coterie:context:{path}"  # references stay within this value
    if not one.required:
        schema["default"] = one.default
    return schema


def _has_reference(value: JsonValue) -> bool:
    match value:
        case dict():
            return "$ref" in value or any(map(_has_reference, value.values()))
        case list():
            return any(map(_has_reference, value))
        case _:
            return False


def _object(*, closed: bool) -> Json:
    schema: Json = {"type": "object", "properties": {}}
    return {**schema, "additionalProperties": False} if closed else schema


def _put_schema(schema: Json, path: tuple[str, ...], leaf: Json, *, required: bool) -> None:
    """Put the schema of a path into the schema of the mappings above it."""
    name, *rest = path
    properties = cast("Json", schema.setdefault("properties", {}))
    if required:
        names = cast("list[JsonValue]", schema.setdefault("required", []))
        names += () if name in names else (name,)
    if not rest:
        properties[name] = {**leaf, **cast("Json", properties.get(name, {}))}
        return
    closed = schema.get("additionalProperties") is False
    inner = cast("Json", properties.setdefault(name, _object(closed=closed)))
    _put_schema(inner, tuple(rest), leaf, required=required)
