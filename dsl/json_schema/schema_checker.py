"""JSON Schema (draft 2020-12) for edited values, checked inside a run.

Pure, total and bounded: the schema came with the run, and its author may be malicious. So no
reference leaves the schema, its patterns run in linear time, and an expensive check is abandoned.
Formats are annotations, as in the standard.
"""

from collections.abc import Iterator
from itertools import islice

from pydantic import JsonValue

from coterie.dsl.json_schema.keyword_check import MAX_ERRORS, UnusableSchema, text_steps, weight
from coterie.dsl.json_schema.keywords import WORDS
from coterie.dsl.json_schema.references import is_own
from coterie.dsl.json_schema.schema_problems import static_problem, subschemas
from coterie.dsl.json_values import json_equal
from coterie.dsl.values import Json

__all__ = ["UnusableSchema", "beyond", "mismatches"]

_MAX_WORK = 50_000
"""About a tenth of a second; a workflow task has two seconds."""
_MAX_DEPTH = 100
_BEYOND = (
    "patternProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "$dynamicRef",
    "$recursiveRef",
)
"""Keywords of the standard that are not checked here, so a schema with one is refused."""


def mismatches(value: JsonValue, schema: Json, where: str = "the value") -> list[str]:
    """List the errors of the value as `where.key is ...`; empty when it meets the schema.

    Raises:
        UnusableSchema: The schema cannot give a verdict.
    """
    check = _Check(schema)
    try:
        return list(islice(check.errors(value, schema, where, 0), MAX_ERRORS))
    except (TypeError, ValueError, AttributeError, KeyError, ArithmeticError, RecursionError):
        raise UnusableSchema("it is no JSON Schema") from None


def beyond(schema: JsonValue) -> str | None:
    """Return why a run cannot check a valid schema, or None when it can."""
    if not isinstance(schema, dict):
        return None
    problem = static_problem(schema)
    if problem is not None:
        return problem
    for node in subschemas(schema):
        for word in _BEYOND:
            if word in node:
                return f"{word!r} is not supported here"
        reference = node.get("$ref")
        if isinstance(reference, str) and not is_own(reference):
            return f"it refers to {reference!r}; a reference reads '#' or '#/$defs/<name>'"
    return None


class _Check:
    """One check and its remaining work allowance."""

    def __init__(self, root: Json) -> None:
        self.root = root
        self._left = _MAX_WORK

    def charge(self, work: int) -> None:
        """Charge for work: a schema may multiply it by references."""
        self._left -= work
        if self._left < 0:
            raise UnusableSchema("it takes too long to check")

    def errors(self, value: JsonValue, schema: JsonValue, where: str, depth: int) -> Iterator[str]:
        """Yield the errors of the value against the schema."""
        self.charge(1 + text_steps(where))
        if depth > _MAX_DEPTH:
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
