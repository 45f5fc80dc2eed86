"""Grade what a run gave: exact values, schemas and expressions. Pure.

Commands and judges run elsewhere.
"""

import json
from typing import Literal, NamedTuple, get_args

from pydantic import JsonValue

from coterie.dsl.errors import EvaluationLimitExceeded, TemplateFailed
from coterie.dsl.json_schema.schema_checker import UnusableSchema, mismatches
from coterie.dsl.json_values import json_equal
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.values import Frozen, Json
from coterie.evals.suite_document import GraderDocument

GraderKind = Literal["exact", "schema", "expression", "command", "rubric"]

_MAX_SHOWN = 200


class Grade(Frozen):
    """The verdict of one grader."""

    grader: str
    passed: bool
    because: str = ""
    """Why it failed; of a judge, its reason."""
    score: int | None = None
    """Of a judge, from 0 to 10."""
    run: str = ""
    """The run of the judge, for `coterie why`."""
    model_calls: int = 0
    """Of the judge."""
    cost: float | None = None
    """US dollars of the judge; None when no call has a price."""


class NoVerdict(Exception):
    """A grader cannot be evaluated, which says nothing about the trial."""


class Verified(NamedTuple):
    """Whether a condition holds, and what it found."""

    passed: bool
    because: str = ""


def kind_of(grader: GraderDocument) -> GraderKind:
    """Return what a grader does."""
    return next(kind for kind in get_args(GraderKind) if grader.has(kind))


def name_of(grader: GraderDocument, number: int) -> str:
    """Return the name of a grader in reports; `number` counts from 1."""
    return grader.name or f"{kind_of(grader)} {number}"


def verify(grader: GraderDocument, facts: Json) -> Verified:
    """Check the condition of a grader that needs nothing but the facts of a trial.

    Raises:
        NoVerdict: It cannot be evaluated.
    """
    try:
        if grader.has("expression"):
            return _expression(fill(grader.expression, facts), grader.expression)
        value = fill(grader.of, facts)
        if grader.has("schema"):
            problems = mismatches(value, grader.schema_)
            return Verified(not problems, "; ".join(problems))
        return _exact(value, fill(grader.exact, facts))
    except (TemplateFailed, EvaluationLimitExceeded, UnusableSchema) as error:
        raise NoVerdict(str(error)) from None


def _expression(value: JsonValue, text: str) -> Verified:
    if value is True:
        return Verified(True)
    if value is False:
        return Verified(False, f"{text} is false")
    raise NoVerdict(f"{text} must give true or false, and gives {_shown_value(value)}")


def _exact(value: JsonValue, expected_value: JsonValue) -> Verified:
    if json_equal(value, expected_value):
        return Verified(True)
    return Verified(False, f"expected {_shown_value(expected_value)}, found {_shown_value(value)}")


def _shown_value(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
