"""The schema and the validator say the same of a document's shape."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend  # pyright: ignore[reportUnknownVariableType]

from coterie.dsl.editor_schema.editor_schema import document_schema, override_schema, persona_schema
from coterie.dsl.errors import InvalidDocument, Problem
from coterie.dsl.source.nodes import Node, overlaid
from coterie.dsl.source.yaml_reader import read
from coterie.dsl.values import Json
from tests.law.documents.test_documented_examples import BASE, CODES, completed
from tests.law.sources import ROOT
from tests.support.compiling import problems_of
from tests.support.documents.generated import documents, written
from tests.support.documents.mistakes import broken

SHAPE = ("E101", "E102", "E103", "E104", "E105", "E106", "E107", "E108", "E109", "E111", "E401")
"""The codes of mistakes of shape."""
NOT_OF_ITS_OWN = (
    "has no provider",
    "has no model",
    "unknown model",
    "is a team of type",
    "can meet at",
    "can reach",
    "no variable can be called",
    "no step can be called",
    "no branch of",
    "lies below",
    "bounds a list",
    "leaves fewer items",
    "so nothing can reset it",
    "document declares none",
)
"""Mistakes with a code of shape that lie between parts of a document; no schema can see them."""


def files(*patterns: str) -> list[Path]:
    return sorted(file for pattern in patterns for file in ROOT.glob(pattern))


def tree(text: str) -> Node:
    return read(text, "read.yml")


def _any_of(
    validator: Any, options: list[Json], instance: object, schema: Json
) -> Iterator[ValidationError]:
    """Leave an option at its first error: the library collects all errors of every option."""
    if not any(validator.evolve(schema=option).is_valid(instance) for option in options):
        yield ValidationError(f"{instance!r} is none of the options")


Brief = cast("type[Draft202012Validator]", extend(Draft202012Validator, {"anyOf": _any_of}))
"""The same validator, which says less of what it refuses, and costs half."""


@cache
def validator(schema: Callable[[], Json]) -> Draft202012Validator:
    """Make a schema when a test needs it, not when each process collects the tests."""
    return Brief(schema())


def refused(schema: Callable[[], Json], *texts: str) -> list[str]:
    """What the schema has against the texts, each laid over those before it."""
    merged = tree(texts[0])
    for text in texts[1:]:
        merged = overlaid(merged, tree(text))
    found = validator(schema).iter_errors(merged.plain())  # pyright: ignore[reportUnknownMemberType]
    return [error.message for error in found]


DOCUMENTS = ("config/teams/*.yml", "examples/language/*.yml", "tests/data/first_examples/*.yml")
WHOLE = [file for file in files(*DOCUMENTS) if ".test." not in file.name]
FORMS = files("tests/data/old_forms/*.old.yml", "tests/data/old_forms/*.new.yml")


def _id(file: Path) -> str:
    return str(file.relative_to(ROOT))


@pytest.mark.parametrize("file", WHOLE, ids=_id)
def test_documents_of_the_project_have_the_shape(file: Path) -> None:
    assert refused(document_schema, file.read_text()) == []


@pytest.mark.parametrize("file", FORMS, ids=lambda file: file.stem)
def test_older_forms_have_the_shape(file: Path) -> None:
    assert refused(document_schema, (file.parent / "base.yml").read_text(), file.read_text()) == []


@pytest.mark.parametrize("file", files("config/personas/*.yml"))
def test_personas_in_files_of_their_own_have_the_shape(file: Path) -> None:
    assert refused(persona_schema, file.read_text()) == []


@pytest.mark.parametrize("file", files("**/system_config.yml", "examples/*/coterie.yml"), ids=_id)
def test_files_that_others_are_laid_over_have_the_shape(file: Path) -> None:
    if "node_modules" not in file.parts and ".venv" not in file.parts:
        assert refused(override_schema, file.read_text()) == []


def mistaken() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every document of the project that shows mistakes."""
    for file in files("tests/data/broken/*.yml"):
        yield f"broken/{file.name}", (file.read_text(),)
    for code, example in CODES.items():
        yield code, (BASE, completed(code, example))


MISTAKEN = dict(mistaken())


def of_shape(problems: tuple[Problem, ...]) -> list[Problem]:
    return [
        problem
        for problem in problems
        if (problem.code in SHAPE or "the fan-out names" in problem.message)
        and not any(part in problem.message for part in NOT_OF_ITS_OWN)
    ]


@pytest.mark.parametrize("name", sorted(MISTAKEN))
def test_a_mistake_of_shape_is_refused_by_both_and_no_other_by_the_schema(name: str) -> None:
    texts = MISTAKEN[name]
    problems = problems_of(*texts, trusted="# untrusted" not in texts[0])
    if any(problem.code.startswith("E0") for problem in problems):
        return  # no YAML to hold against a schema
    assert bool(refused(document_schema, *texts)) is bool(of_shape(problems)), problems


large = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def agree(document: Json) -> None:
    text = written(document)
    try:
        shaped = not refused(document_schema, text)
    except InvalidDocument:
        return  # not even YAML of ours
    problems = problems_of(text)
    if not any(problem.severity == "error" for problem in problems):
        assert shaped, refused(document_schema, text)
    if shaped:
        assert not of_shape(problems)


@large
@given(documents())
def test_schema_and_models_agree_on_random_documents(document: Json) -> None:
    agree(document)


@large
@given(broken())
def test_schema_and_models_agree_on_random_mistakes(document: Json) -> None:
    agree(document)
