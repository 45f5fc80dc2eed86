"""Hold the checker of values against tests whose verdicts are known."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import JsonValue

from coterie.dsl.json_schema.schema_checker import mismatches
from coterie.dsl.json_schema.schema_problems import schema_problem
from coterie.dsl.values import Json

DRAFTS = {
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft7": "http://json-schema.org/draft-07/schema#",
}
REASONS = (
    "patternProperties",
    "refers to",
    "$id",
    "$schema",
    "dependencies",
    "additionalItems",
    "$recursive",
    "pattern",
    "stands beside",
    "is not checked",
    "not a valid JSON Schema",
    "without end",
)
"""A refused schema names one of these."""


class Verdict(NamedTuple):
    """A value, and whether it meets the schema."""

    value: JsonValue
    valid: bool
    name: str = ""


class Case(NamedTuple):
    """One schema and its verdicts."""

    name: str
    schema: Json
    verdicts: tuple[Verdict, ...]


class Checker(NamedTuple):
    """How a value is held against a schema."""

    problem: Callable[[Json], str | None]
    """Why it refuses a schema."""
    holds: Callable[[Json, JsonValue], bool]


def _holds(schema: Json, value: JsonValue) -> bool:
    return not mismatches(value, schema)


OURS = Checker(schema_problem, _holds)


@dataclass
class Judged:
    """What a checker said of many cases."""

    wrong: list[str] = field(default_factory=list[str])
    shown: Counter[bool] = field(default_factory=Counter[bool])
    """How many values it accepted and refused."""
    refused: dict[str, str] = field(default_factory=dict[str, str])
    """`{case: why its schema is refused}`."""

    @property
    def unlisted(self) -> list[str]:
        """The refusals for a reason that is not in `REASONS`."""
        return [one for one in self.refused.values() if not any(why in one for why in REASONS)]


def draft_schema(schema: JsonValue, draft: str) -> Json:
    """Return a schema that declares its draft."""
    given: Json = schema if isinstance(schema, dict) else {"allOf": [schema]}
    return {"$schema": DRAFTS[draft], **given}


def judge(cases: Iterable[Case], checker: Checker = OURS) -> Judged:
    """Ask a checker for every verdict of the cases whose schema it takes."""
    judged = Judged()
    for case in cases:
        problem = checker.problem(case.schema)
        if problem is not None:
            judged.refused[case.name] = problem
            continue
        for value, valid, name in case.verdicts:
            verdict = checker.holds(case.schema, value)
            judged.shown[verdict] += 1
            if verdict is not valid:
                judged.wrong.append(f"{case.name}: {name or repr(value)}")
    return judged
