"""Tools as Python functions: signatures that a model reads, from JSON Schema. Pure."""

import json
import keyword
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from coterie.dsl.values import Json, JsonValue

_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "dict",
    "array": "list",
}
_MAX_DEPTH = 4
_MAX_NESTED = 2
_MAX_CHOICES = 12
_MAX_RESULT = 600
"""Characters of the type of a result."""
_MAX_TEXT = 400
"""Characters of a description of a parameter or a function."""
_MAX_PARAMETER = 4_000
"""Characters of the type of a parameter."""
_MAX_PARTS = 2_000
"""Parts of types that one function has: definitions that name each other have no end."""


@dataclass(slots=True)
class _Room:
    """How many parts of types may still be written; the others are `Any`."""

    left: int = _MAX_PARTS


def parameter_names(schema: Json) -> tuple[str, ...]:
    """Return the names of the parameters, required ones first: the order of positional ones."""
    return tuple(name for name, _, _ in _parameters(schema))


def result_type(schema: Json) -> str:
    """Return the type of a result as Python writes it; empty if nothing is known."""
    written = _short_type(schema, _Room(), _MAX_RESULT)
    return "" if written == "Any" else written


def _short_type(schema: Json, room: _Room, most: int) -> str:
    """Return a type, with fewer levels if it is long, and without any if it is still long."""
    written = _type(schema, schema, room)
    if len(written) > most:
        written = _type(schema, schema, _Room(), 2)
    return written if len(written) <= most else "Any"


def function_stub(name: str, description: str, schema: Json, returns: str = "") -> str:
    """Return a tool as the head of a Python function with its description."""
    parameters, room = _parameters(schema), _Room()
    written = [part for part in parameters if _is_name(part[0])]
    others = [part for part in parameters if not _is_name(part[0])]
    heads = [_parameter(*part, room) for part in written]
    if others or _takes_more(schema):
        heads.append("**more")
    doc = list(_documentation(description, written, others, room))
    body = "\n".join(f"    {line}".rstrip() for line in ('"""' + doc[0], *doc[1:]))
    end = '"""' if len(doc) == 1 else '\n    """'
    result = f" -> {returns}" if returns else ""
    return f"async def {name}({', '.join(heads)}){result}:\n{body}{end}"


def _parameters(schema: Json) -> list[tuple[str, Json, bool]]:
    """Return `(name, schema, required)` of each parameter, required ones first."""
    properties = schema.get("properties")
    required = schema.get("required")
    needed = cast("list[str]", required) if isinstance(required, list) else []
    found = [
        (name, _with_definitions(part, schema), name in needed)
        for name, part in (properties.items() if isinstance(properties, dict) else ())
    ]
    return sorted(found, key=lambda part: not part[2])


def _with_definitions(part: JsonValue, schema: Json) -> Json:
    """Return the schema of a parameter, with the definitions that it may name."""
    own = _resolve(part, schema)
    definitions = schema.get("$defs")
    return own if definitions is None else {**own, "$defs": definitions}


def _takes_more(schema: Json) -> bool:
    return not schema.get("properties") and schema.get("additionalProperties") is not False


def _is_name(name: str) -> bool:
    return name.isidentifier() and name.isascii() and not keyword.iskeyword(name)


def _parameter(name: str, schema: Json, required: bool, room: _Room) -> str:
    head = f"{name}: {_short_type(schema, room, _MAX_PARAMETER)}"
    if required:
        return head
    return f"{head} = {_literal(schema['default'])}" if "default" in schema else f"{head} = ..."


def _documentation(
    description: str,
    written: list[tuple[str, Json, bool]],
    others: list[tuple[str, Json, bool]],
    room: _Room,
) -> Iterator[str]:
    yield _text(description) or "No description."
    for name, schema, _ in written:
        about = _text(schema.get("description"))
        if about:
            yield f"{name}: {about}"
    for name, schema, required in others:
        about = _text(schema.get("description"))
        need = "required" if required else "optional"
        key = json.dumps(name)
        kind = _short_type(schema, room, _MAX_PARAMETER)
        yield f"**{{{key}: ...}}: {kind}, {need}. {about}".rstrip()


def _text(value: JsonValue) -> str:
    """Return a description on one line, without what would end the text around it."""
    if not isinstance(value, str):
        return ""
    line = " ".join(value.split()).replace('"""', "'''").replace("\\", "\\\\")
    line = line if len(line) <= _MAX_TEXT else f"{line[: _MAX_TEXT - 3]}..."
    return f"{line} " if line.endswith('"') else line


def _type(schema: JsonValue, whole: Json, room: _Room, depth: int = 0) -> str:
    """Return a type as Python writes it, for a part of a JSON Schema; `Any` where it says more."""
    if not isinstance(schema, dict) or depth > _MAX_DEPTH or room.left <= 0:
        return "Any"
    room.left -= 1
    schema = _resolve(schema, whole)
    if "const" in schema:
        return f"Literal[{_literal(schema['const'])}]"
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        shown = [_literal(choice) for choice in choices[:_MAX_CHOICES]]
        return f"Literal[{', '.join(shown)}]" if len(choices) <= _MAX_CHOICES else "str"
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        if isinstance(options, list) and options:
            return _union(options, whole, room, depth)
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union([{**schema, "type": one} for one in kind], whole, room, depth)
    name = _TYPES.get(kind) if isinstance(kind, str) else None
    if name == "list" and "items" in schema:
        return f"list[{_type(schema['items'], whole, room, depth + 1)}]"
    if name == "dict":
        return _mapping(schema, whole, room, depth)
    return name or "Any"


def _union(options: Sequence[JsonValue], whole: Json, room: _Room, depth: int) -> str:
    return " | ".join(dict.fromkeys(_type(part, whole, room, depth + 1) for part in options))


def _mapping(schema: Json, whole: Json, room: _Room, depth: int) -> str:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties or depth > _MAX_NESTED:
        return "dict"
    fields = ", ".join(
        f"{json.dumps(name, ensure_ascii=False)}: {_type(part, whole, room, depth + 1)}"
        for name, part in properties.items()
    )
    return f"{{{fields}}}"


def _resolve(part: JsonValue, whole: Json) -> Json:
    """Return a schema with a local definition in place of its reference."""
    if not isinstance(part, dict):
        return {}
    reference, definitions = part.get("$ref"), whole.get("$defs")
    if not isinstance(reference, str) or not isinstance(definitions, dict):
        return part
    target = definitions.get(reference.removeprefix("#/$defs/"))
    own = {key: value for key, value in part.items() if key != "$ref"}
    return {**target, **own} if isinstance(target, dict) else part


def _literal(value: JsonValue) -> str:
    """Return a JSON value as Python writes it."""
    return repr(value)
