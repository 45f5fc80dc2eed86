"""JSON Schema for editors, generated from the models: what a person writes, not what they become.

The models know documents after `dsl.normalise.forms`. This brings their schema back into the
written shape: `type` instead of `kind`, kinds known by a key, durations like `3d`. What no model
has, the forms of conditions and the older forms, is in `dsl.editor_schema.written_forms`.
"""

import ast
import inspect
from collections.abc import Callable, Iterator
from itertools import pairwise
from textwrap import dedent
from typing import cast

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from coterie.dsl.editor_schema import rules as schema_rules
from coterie.dsl.editor_schema import written_forms as schema_forms
from coterie.dsl.model import conditions
from coterie.dsl.model.document import SystemDocument
from coterie.dsl.model.steps import STEP_OF_TAG, PersonaDocument
from coterie.dsl.values import Json, JsonValue, seconds

DIALECT = "https://json-schema.org/draft/2020-12/schema"
CONDITIONS = (
    conditions.TaskField,
    conditions.TaskStatus,
    conditions.ContextField,
    conditions.AllOf,
    conditions.AnyOf,
    conditions.Not,
    conditions.TeamOutcome,
    conditions.Expression,
)


def document_schema() -> Json:
    """Return the schema of a whole document."""
    schema = model_schema(SystemDocument, "A document of Coterie: personas, teams, limits")
    needed: Json = {"orchestration": {"type": "object"}}
    return {**schema, "required": list(needed), "properties": needed}


def persona_schema() -> Json:
    """Return the schema of a persona in its own file."""
    return model_schema(PersonaDocument, "A persona of Coterie in a file of its own")


def override_schema() -> Json:
    """Return the schema of a file that is merged over others: it requires no keys."""
    title = "A file of Coterie that is laid over others"
    return model_schema(SystemDocument, title, change=schema_rules.laid_over)


def model_schema(
    root: type[BaseModel], title: str, change: Callable[[Json], Json] = lambda defs: defs
) -> Json:
    """Return the schema of any model, with steps and conditions in their written forms."""
    models = dict.fromkeys(
        (root, SystemDocument, PersonaDocument, *STEP_OF_TAG.values(), *CONDITIONS)
    )
    _, generated = models_json_schema(
        [(model, "validation") for model in models], by_alias=True, schema_generator=_Written
    )
    defs = cast("Json", generated["$defs"])
    defs = change(
        schema_rules.with_key_rules(schema_forms.written(cast("Json", _tidy(defs, names=True))))
    )
    reachable_defs = {
        name: defs[name] for name in sorted(_reachable_definitions(root.__name__, defs))
    }
    return {
        "$schema": DIALECT,
        "title": title,
        "$ref": _REF + root.__name__,
        "$defs": reachable_defs,
    }


_REF = "#/$defs/"
_FORM = "x-form"
"""Marks the place of a definition of ours while pydantic generates."""


class _Written(GenerateJsonSchema):
    """Leaves room for durations and for the unions of steps and conditions; adds docstrings."""

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        """Mark the unions of steps and of conditions."""
        first = str(next(iter(schema["choices"])))
        if first.startswith(("step:", "condition:")):
            return {_FORM: "Step" if first.startswith("step:") else "Condition"}
        return super().tagged_union_schema(schema)

    def function_before_schema(
        self, schema: core_schema.BeforeValidatorFunctionSchema
    ) -> JsonSchemaValue:
        """Allow a duration to be a text."""
        if schema["function"]["function"] is seconds:
            return {_FORM: "Duration"}
        return super().function_before_schema(schema)

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Add the docstring of each field."""
        json_schema = super().model_schema(schema)
        model = cast("type[BaseModel]", schema["cls"])
        for field, text in field_docs(model).items():
            name = model.model_fields[field].alias or field
            json_schema["properties"][name].setdefault("description", text)
        return json_schema


_SCHEMAS = ("items", "additionalProperties", "propertyNames")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")


def _tidy(schema: JsonValue, *, names: bool = False) -> JsonValue:
    """Remove what only programs need: titles made of names, defaults of null."""
    if not isinstance(schema, dict):
        return schema
    if names:
        return {name: _tidy(below) for name, below in schema.items()}
    if _FORM in schema:
        form = "Timeout" if "gt" in schema else schema[_FORM]
        annotations = {key: schema[key] for key in ("description", "default") if schema.get(key)}
        return {"$ref": f"{_REF}{form}", **annotations}
    tidy: Json = {}
    for key, value in schema.items():
        if key == "title" or (key == "default" and value in (None, [], {})):
            continue
        if key in _SCHEMAS:
            tidy[key] = _tidy(value)
        elif key in _LISTS and isinstance(value, list):
            tidy[key] = [_tidy(item) for item in value]
        else:
            tidy[key] = _tidy(value, names=True) if key == "properties" else value
    return _without_null(tidy)


def _without_null(schema: Json) -> Json:
    """Turn `{anyOf: [x, null]}` into one x that may be null: editors show it better."""
    options = schema.get("anyOf")
    null: Json = {"type": "null"}
    if not isinstance(options, list) or len(options) != 2 or options[1] != null:
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    match options[0]:
        case {"enum": list(words), **more}:
            return {**more, "type": ["string", "null"], "enum": [*words, None], **rest}
        case {"type": str(name), **more} if "const" not in more:
            return {**more, "type": [name, "null"], **rest}
        case _:
            return schema


def _reachable_definitions(name: str, defs: Json) -> set[str]:
    """Return the definitions that a definition refers to, and itself."""
    reached: set[str] = set()
    ahead = [name]
    while ahead:
        here = ahead.pop()
        if here not in reached:
            reached.add(here)
            ahead += _referenced_names(defs[here])
    return reached


def _referenced_names(schema: JsonValue) -> Iterator[str]:
    if isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str):
            yield reference.removeprefix(_REF)
        for below in schema.values():
            yield from _referenced_names(below)
    elif isinstance(schema, list):
        for below in schema:
            yield from _referenced_names(below)


def field_docs(model: type[BaseModel]) -> dict[str, str]:
    """Return `{field: its docstring}`, with inherited fields; fields without one are missing."""
    docs: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        if issubclass(cls, BaseModel) and cls is not BaseModel:
            docs |= _own(cls)
    return docs


def _own(cls: type[BaseModel]) -> dict[str, str]:
    (definition,) = ast.parse(dedent(inspect.getsource(cls))).body
    assert isinstance(definition, ast.ClassDef)
    body = definition.body
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and field.target.id in cls.model_fields
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
