"""Problems of a JSON Schema, found without a value: drafts, keywords, references. Pure.

A schema is read as draft 2020-12. Another draft is accepted where it means the same. A keyword that
means something else there is refused by name, so that no verdict is wrong.
"""

from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue

from coterie.dsl.json_schema.patterns import schema_pattern
from coterie.dsl.json_schema.references import is_own, target_of
from coterie.dsl.json_schema.schema_grammar import grammar_problem
from coterie.dsl.values import Json

DRAFT_07: Final = "http://json-schema.org/draft-07/schema"
DRAFTS: Final = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    DRAFT_07,
)
DATA: Final = frozenset(
    {"const", "enum", "default", "examples", "required", "dependentRequired", "type"}
)
"""Keywords whose values are not schemas, even if they look like one."""
NAMED: Final = frozenset(
    {
        "properties",
        "$defs",
        "definitions",
        "dependentSchemas",
        "patternProperties",
    }
)
"""Keywords that hold schemas by name."""
_REPLACED: Final = {
    "dependencies": "`dependentRequired` or `dependentSchemas`",
    "additionalItems": "`prefixItems` and `items`",
    "$recursiveRef": "`$ref`",
    "$recursiveAnchor": "`$ref`",
}
_IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
"""Keywords whose schemas apply to the same value."""
_MAX_DEPTH: Final = 200


def schema_problem(schema: Json) -> str | None:
    """Return why answers cannot be checked against a schema, or None when they can.

    Every schema of a document is checked here, before a run and again where it is used.
    """
    try:
        power = next(
            (problem for subschema in subschemas(schema) if (problem := _power_problem(subschema))),
            None,
        )
    except RecursionError:
        return "it is nested too deeply"
    problem = power or static_problem(schema)
    if problem is not None:
        return problem
    wrong = grammar_problem(schema)
    return None if wrong is None else f"it is not a valid JSON Schema, at {wrong}"


def _power_problem(node: Json) -> str | None:
    """Return what reaches outside the schema or may exceed linear time."""
    if "patternProperties" in node:
        return "`patternProperties` is not supported; use `additionalProperties`"
    for key in ("$ref", "$dynamicRef"):
        reference = node.get(key)
        if isinstance(reference, str) and not is_own(reference):
            return (
                f"it refers to {reference!r}; a reference reads `#`, `#/$defs/<name>` or "
                "`#/definitions/<name>`"
            )
    text = node.get("pattern")
    if isinstance(text, str):
        try:
            schema_pattern(text)
        except ValueError as error:
            return f"its pattern {text!r} is not supported: {error}"
    return None


def static_problem(schema: Json) -> str | None:
    """Return why the schema is unusable for every value, or None."""
    draft = schema.get("$schema")
    try:
        for node in subschemas(schema):
            problem = _draft_problem(node.get("$schema")) or _word_problem(
                node, node is schema, draft
            )
            if problem is not None:
                return problem
        return _reference_problem(schema)
    except RecursionError:
        return "it is nested too deeply"


def subschemas(node: JsonValue, depth: int = 0) -> Iterator[Json]:
    """Yield every schema within a schema, itself first; never plain data."""
    if depth > _MAX_DEPTH:
        raise RecursionError
    if isinstance(node, list):
        for item in node:
            yield from subschemas(item, depth + 1)
    elif isinstance(node, dict):
        yield node
        for word, value in node.items():
            if word in DATA:
                continue
            if word in NAMED and isinstance(value, dict):
                yield from subschemas(list(value.values()), depth + 1)
            else:
                yield from subschemas(value, depth + 1)


def anchors_of(schema: Json) -> dict[str, Json]:
    """Return `{anchor: its schema}`."""
    return {
        name: node
        for node in subschemas(schema)
        for word in ("$anchor", "$dynamicAnchor")
        if isinstance(name := node.get(word), str)
    }


def _draft_problem(value: JsonValue) -> str | None:
    if value is None:
        return None
    name = value.removesuffix("#") if isinstance(value, str) else ""
    if name.replace("https:", "http:") in (draft.replace("https:", "http:") for draft in DRAFTS):
        return None
    return f"its `$schema` {value!r} is not supported; write `$schema: {DRAFTS[0]}`"


def _word_problem(node: Json, root: bool, draft: JsonValue) -> str | None:
    for word, instead in _REPLACED.items():
        if word in node:
            return f"`{word}` is not supported; use {instead}"
    if not root and "$id" in node:
        return "`$id` is supported at its top only"
    if isinstance(draft, str) and draft.removesuffix("#").endswith("draft-07/schema"):
        beside = sorted(
            set(node)
            - {
                "$ref",
                "$schema",
                "$id",
                "$comment",
                "title",
                "description",
                "definitions",
                "$defs",
                "default",
                "examples",
            }
        )
        if "$ref" in node and beside:
            return (
                f"`{beside[0]}` stands beside `$ref`, where draft-07 ignores it; "
                f"write `$schema: {DRAFTS[0]}`"
            )
        for word in ("contentEncoding", "contentMediaType"):
            if word in node:
                return f"`{word}` is not checked; leave it out"
    return None


def _reference_problem(schema: Json) -> str | None:
    """Find a reference without a target, or one that returns to itself at the same value."""
    anchors = anchors_of(schema)
    for node in subschemas(schema):
        for word in ("$ref", "$dynamicRef"):
            reference = node.get(word)
            own = isinstance(reference, str) and reference.startswith("#")
            if own and target_of(schema, str(reference), anchors) is None:
                return f"it refers to {reference!r}, which it does not define"
    checked_ids: set[int] = set()
    for node in subschemas(schema):
        if _endless(schema, node, anchors, checked_ids):
            return "it refers to itself without end"
    return None


def _endless(schema: Json, start: Json, anchors: dict[str, Json], checked_ids: set[int]) -> bool:
    """Return whether the schema returns to itself at the same value, without recursion."""
    path: set[int] = set()
    stack: list[tuple[Json, Iterator[Json]]] = []

    def enter(node: Json) -> bool:
        """Return whether the node is already on the path."""
        if id(node) in path:
            return True
        if id(node) not in checked_ids:
            path.add(id(node))
            stack.append((node, _same_value(schema, node, anchors)))
        return False

    enter(start)
    while stack:
        node, rest = stack[-1]
        following = next(rest, None)
        if following is None:
            stack.pop()
            path.discard(id(node))
            checked_ids.add(id(node))
        elif enter(following):
            return True
    return False


def _same_value(schema: Json, node: Json, anchors: dict[str, Json]) -> Iterator[Json]:
    """List the schemas that a schema applies to its own value."""
    for word in _IN_PLACE:
        below = node.get(word)
        for subschema in below if isinstance(below, list) else [below]:
            if isinstance(subschema, dict):
                yield subschema
    dependent = node.get("dependentSchemas")
    if isinstance(dependent, dict):
        yield from (subschema for subschema in dependent.values() if isinstance(subschema, dict))
    for word in ("$ref", "$dynamicRef"):
        reference = node.get(word)
        if isinstance(reference, str) and reference.startswith("#"):
            target = target_of(schema, reference, anchors)
            if isinstance(target, dict):
                yield target


def formats(schema: Json) -> list[str]:
    """List the formats that the schema names, which nothing checks."""
    named = (node.get("format") for node in subschemas(schema))
    return sorted({name for name in named if isinstance(name, str)})
