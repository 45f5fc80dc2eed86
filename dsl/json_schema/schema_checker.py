"""The one checker of values against a JSON Schema (draft 2020-12).

Pure, total and bounded: the schema came with a run, and its author may be malicious. So no
reference leaves the schema, its patterns run in linear time, and an expensive check is abandoned.
Formats are annotations, as in the standard.
"""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from pydantic import JsonValue

from coterie.dsl.json_schema.keyword_check import MAX_ERRORS, UnusableSchema, text_steps, weight
from coterie.dsl.json_schema.keywords import WORDS
from coterie.dsl.json_schema.schema_problems import anchors_of, schema_problem
from coterie.dsl.json_values import json_equal
from coterie.dsl.values import Json

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
