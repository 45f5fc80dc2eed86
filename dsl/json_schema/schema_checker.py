"""The one checker of values against a JSON Schema (draft 2020-12).

Pure, total and bounded: the schema came with a run, and its author may be malicious. So no
reference leaves the schema, its patterns run in linear time, and an expensive check is abandoned.
Formats are annotations, as in the standard.
"""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import NamedTuple, cast

from pydantic import JsonValue

from coterie.dsl.json_schema import value_keywords as values
from coterie.dsl.json_schema.keyword_check import (
    MAX_ERRORS,
    Check,
    UnusableSchema,
    Word,
    canonical,
    excerpt,
    names_steps,
    some_of,
    text_steps,
    weight,
)
from coterie.dsl.json_schema.references import is_own, target_of
from coterie.dsl.json_schema.schema_problems import anchors_of, schema_problem
from coterie.dsl.json_values import json_equal
from coterie.dsl.values import Json


def _check_properties(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    if isinstance(value, dict):
        named = cast("Json", schema["properties"])
        check.charge(names_steps(named))
        for key, below in named.items():
            if key in value:
                yield from check.errors(value[key], below, f"{where}.{key}", depth)


def _check_additional(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    named = cast("Json", schema.get("properties", {}))
    below = schema["additionalProperties"]
    check.charge(names_steps(value))
    for key in value:
        if key not in named:
            if below is False:
                check.charge(names_steps(named) + text_steps(key))
                allowed = some_of(sorted(named)) or "none"
                yield f"{where} has the key {key!r}; allowed: {allowed}"
            else:
                yield from check.errors(value[key], below, f"{where}.{key}", depth)


def _check_required(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    if isinstance(value, dict):
        needed = cast("list[str]", schema["required"])
        check.charge(names_steps(needed))
        for key in needed:
            if key not in value:
                yield f"{where} lacks the key {key!r}"


def _check_dependent(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    if isinstance(value, dict):
        dependent = cast("dict[str, list[str]]", schema["dependentRequired"])
        check.charge(names_steps(dependent))
        for key, needed in dependent.items():
            if key in value:
                yield from _check_required(check, {"required": list(needed)}, value, where, depth)


def _check_dependent_schemas(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    if isinstance(value, dict):
        dependent = cast("Json", schema["dependentSchemas"])
        check.charge(names_steps(dependent))
        for key, below in dependent.items():
            if key in value:
                yield from check.errors(value, below, where, depth)


def _check_names(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    if isinstance(value, dict):
        for key in value:
            check.charge(text_steps(key))
            key_name = f"the key {key!r} of {where}"
            yield from check.errors(key, schema["propertyNames"], key_name, depth)


def _check_items(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    if isinstance(value, list):
        first = len(cast("list[JsonValue]", schema.get("prefixItems", [])))
        check.charge(names_steps(value[:first]))
        for index, item in islice(enumerate(value), first, None):
            yield from check.errors(item, schema["items"], f"{where}[{index}]", depth)


def _check_prefix(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    if isinstance(value, list):
        pairs = zip(value, cast("list[JsonValue]", schema["prefixItems"]), strict=False)
        for index, (item, below) in enumerate(pairs):
            yield from check.errors(item, below, f"{where}[{index}]", depth)


def _check_contains(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    if isinstance(value, list):
        count = sum(check.fits(item, schema["contains"], depth) for item in value)
        least = cast("int", schema.get("minContains", 1))
        maximum = cast("float", schema.get("maxContains", float("inf")))
        if not least <= count <= maximum:
            yield f"{where} has {count} of the entries that it must contain"


def _check_unique(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    if isinstance(value, list) and schema["uniqueItems"] is True:
        check.charge(weight(value))
        if len({canonical(item) for item in value}) < len(value):
            yield f"{where} has an entry twice"


def _all(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    for below in cast("list[JsonValue]", schema["allOf"]):
        yield from check.errors(value, below, where, depth)


def _any(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    alternatives: list[tuple[bool, list[str]]] = []
    for below in cast("list[JsonValue]", schema["anyOf"]):
        errors = list(islice(check.errors(value, below, where, depth), MAX_ERRORS))
        if not errors:
            return
        other = (
            isinstance(below, dict)
            and "type" in below
            and not values.is_of_type(value, below["type"])
        )
        alternatives.append((other, errors))
    # The closest alternative gives the most useful errors.
    yield from min(alternatives, key=lambda form: (form[0], len(form[1])))[1]


def _one(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    forms = cast("list[JsonValue]", schema["oneOf"])
    fitting = sum(check.fits(value, below, depth) for below in forms)
    if fitting == 0:
        yield from _any(check, {"anyOf": forms}, value, where, depth)
    elif fitting > 1:
        yield f"{where} fits {fitting} forms of which it must fit one"


def _not(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    if check.fits(value, schema["not"], depth):
        yield f"{where} is {excerpt(value)}, which is excluded"


def _if(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    branch = "then" if check.fits(value, schema["if"], depth) else "else"
    if branch in schema:
        yield from check.errors(value, schema[branch], where, depth)


def _ref(check: Check, schema: Json, value: JsonValue, where: str, depth: int) -> Iterator[str]:
    yield from check.errors(value, _target(check, "$ref", schema), where, depth)


def _dynamic_ref(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    """Follow it like `$ref`: in one schema, each anchor has one place."""
    yield from check.errors(value, _target(check, "$dynamicRef", schema), where, depth)


def _target(check: Check, word: str, schema: Json) -> JsonValue:
    reference = cast("str", schema[word])
    check.charge(text_steps(reference))
    if not is_own(reference):
        raise UnusableSchema(f"it refers to {reference!r}")
    is_place = reference == "#" or reference.startswith("#/")
    below = target_of(check.root, reference, {} if is_place else check.anchors())
    if below is None:
        raise UnusableSchema(f"it refers to {reference!r}, which it does not define")
    return below


def _unevaluated_properties(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    below = schema["unevaluatedProperties"]
    evaluated_keys = _evaluated_parts(
        check, _without(schema, "unevaluatedProperties"), value, depth
    )
    for key in value:
        if key not in evaluated_keys:
            if below is False:
                yield f"{where} has the key {key!r}, which no part of its schema allows"
            else:
                yield from check.errors(value[key], below, f"{where}.{key}", depth)


def _unevaluated_items(
    check: Check, schema: Json, value: JsonValue, where: str, depth: int
) -> Iterator[str]:
    if not isinstance(value, list):
        return
    evaluated_indexes = _evaluated_parts(check, _without(schema, "unevaluatedItems"), value, depth)
    for index, item in enumerate(value):
        if index not in evaluated_indexes:
            yield from check.errors(item, schema["unevaluatedItems"], f"{where}[{index}]", depth)


def _without(schema: Json, word: str) -> Json:
    return {key: value for key, value in schema.items() if key != word}


def _evaluated_parts(
    check: Check, schema: JsonValue, value: Json | list[JsonValue], depth: int
) -> set[str | int]:
    """Return the keys, or the places of items, that a schema that the value meets looks at."""
    if not isinstance(schema, dict):
        return set()
    check.charge(1 + names_steps(value))
    parts: set[str | int] = set()
    if isinstance(value, dict):
        named = cast("Json", schema.get("properties", {}))
        whole = "additionalProperties" in schema or "unevaluatedProperties" in schema
        parts |= {key for key in value if whole or key in named}
    else:
        first = len(cast("list[JsonValue]", schema.get("prefixItems", [])))
        whole = "items" in schema or "unevaluatedItems" in schema
        for index, item in enumerate(value):
            if whole or index < first or _contains_item(check, schema, item, depth):
                parts.add(index)
    for below in _schemas_in_place(check, schema, value, depth):
        if check.fits(value, below, depth):
            parts |= _evaluated_parts(check, below, value, depth + 1)
    return parts


def _contains_item(check: Check, schema: Json, item: JsonValue, depth: int) -> bool:
    return "contains" in schema and check.fits(item, schema["contains"], depth)


def _schemas_in_place(
    check: Check, schema: Json, value: Json | list[JsonValue], depth: int
) -> Iterator[JsonValue]:
    """Yield the schemas that a schema applies to the value itself, without `not`."""
    for word in ("allOf", "anyOf", "oneOf"):
        yield from cast("list[JsonValue]", schema.get(word, []))
    if "if" in schema:
        yield schema["if"]
        yield schema.get("then" if check.fits(value, schema["if"], depth) else "else", True)
    dependent = cast("Json", schema.get("dependentSchemas", {}))
    check.charge(names_steps(dependent))
    yield from (below for key, below in dependent.items() if key in value)
    for word in ("$ref", "$dynamicRef"):
        if word in schema:
            yield _target(check, word, schema)


WORDS: dict[str, Word] = {
    "type": values.check_type,
    "enum": values.check_enum,
    "const": values.check_const,
    "minimum": values.bound_check("minimum", "at least", lambda number, limit: number >= limit),
    "maximum": values.bound_check("maximum", "at most", lambda number, limit: number <= limit),
    "exclusiveMinimum": values.bound_check(
        "exclusiveMinimum", "more than", lambda n, limit: n > limit
    ),
    "exclusiveMaximum": values.bound_check(
        "exclusiveMaximum", "less than", lambda n, limit: n < limit
    ),
    "multipleOf": values.bound_check("multipleOf", "a multiple of", values.is_multiple),
    "minLength": values.size_check("minLength", str, True, "characters"),
    "maxLength": values.size_check("maxLength", str, False, "characters"),
    "pattern": values.check_pattern,
    "required": _check_required,
    "properties": _check_properties,
    "additionalProperties": _check_additional,
    "propertyNames": _check_names,
    "dependentRequired": _check_dependent,
    "dependentSchemas": _check_dependent_schemas,
    "minProperties": values.size_check("minProperties", dict, True, "keys"),
    "maxProperties": values.size_check("maxProperties", dict, False, "keys"),
    "items": _check_items,
    "prefixItems": _check_prefix,
    "contains": _check_contains,
    "uniqueItems": _check_unique,
    "minItems": values.size_check("minItems", list, True, "entries"),
    "maxItems": values.size_check("maxItems", list, False, "entries"),
    "allOf": _all,
    "anyOf": _any,
    "oneOf": _one,
    "not": _not,
    "if": _if,
    "$ref": _ref,
    "$dynamicRef": _dynamic_ref,
    "unevaluatedProperties": _unevaluated_properties,
    "unevaluatedItems": _unevaluated_items,
}
"""Every keyword that is checked; all other keywords are annotations."""


__all__ = ["UnusableSchema", "answer_mismatches", "mismatches"]


class CheckLimits(NamedTuple):
    """What one check may cost."""

    work: int
    depth: int


IN_RUN = CheckLimits(work=50_000, depth=100)
"""About a tenth of a second; a workflow task has two seconds."""
_OF_ANSWER = CheckLimits(work=200_000, depth=250)
"""Also for a tree of the depth that an answer may have, by references."""


def answer_mismatches(value: JsonValue, schema: Json) -> list[str]:
    """List the errors of an answer as `$.key is ...`; empty when it meets the schema.

    Only outside of a run, which has less time.

    Raises:
        UnusableSchema: The schema is invalid, or cannot give a verdict.
    """
    problem = _problem_of(json.dumps(schema))
    if problem is not None:
        raise UnusableSchema(problem)
    return mismatches(value, schema, "$", _OF_ANSWER)


@lru_cache(maxsize=128)
def _problem_of(schema: str) -> str | None:
    """Return why a schema is unusable, cached: checking a schema costs more than an answer."""
    return schema_problem(json.loads(schema))


def mismatches(
    value: JsonValue, schema: Json, where: str = "the value", limits: CheckLimits = IN_RUN
) -> list[str]:
    """List the errors of the value as `where.key is ...`; empty when it meets the schema.

    Raises:
        UnusableSchema: The schema cannot give a verdict.
    """
    check = _Check(schema, limits)
    try:
        return list(islice(check.errors(value, schema, where, 0), MAX_ERRORS))
    except (TypeError, ValueError, AttributeError, KeyError, ArithmeticError, RecursionError):
        raise UnusableSchema("it is no JSON Schema") from None


class _Check:
    """One check and its remaining work allowance."""

    def __init__(self, root: Json, limits: CheckLimits) -> None:
        self.root = root
        self._left, self._max_depth = limits
        self._anchors: Mapping[str, Json] | None = None

    def anchors(self) -> Mapping[str, Json]:
        """Return the anchors of the whole schema."""
        if self._anchors is None:
            self.charge(weight(self.root))
            self._anchors = anchors_of(self.root)
        return self._anchors

    def charge(self, work: int) -> None:
        """Charge for work: a schema may multiply it by references."""
        self._left -= work
        if self._left < 0:
            raise UnusableSchema("it takes too long to check")

    def errors(self, value: JsonValue, schema: JsonValue, where: str, depth: int) -> Iterator[str]:
        """Yield the errors of the value against the schema."""
        self.charge(1 + text_steps(where))
        if depth > self._max_depth:
            raise UnusableSchema("it refers to itself without end")
        if schema is False:
            yield f"{where} must not be there"
        elif isinstance(schema, dict):
            for word in schema:
                test = WORDS.get(word)
                if test is not None:
                    yield from test(self, schema, value, where, depth + 1)
        elif schema is not True:
            raise TypeError("neither true, false nor a mapping")

    def fits(self, value: JsonValue, schema: JsonValue, depth: int) -> bool:
        """Return whether the value meets the schema."""
        return next(self.errors(value, schema, "", depth), None) is None

    def equal(self, value: JsonValue, other: JsonValue) -> bool:
        """Return whether two values are equal as JSON."""
        self.charge(weight(other))
        return json_equal(value, other)
