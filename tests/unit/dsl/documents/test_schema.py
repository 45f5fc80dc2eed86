"""The JSON Schema for editors: current, valid, described, and printed by the command."""

import json
from functools import cache
from pathlib import Path
from typing import cast, get_args

import pytest
from jsonschema import Draft202012Validator

from coterie.cli import main
from coterie.dsl.model.step_kinds.step_base import StepBase
from coterie.dsl.model.steps import STEP_MODELS
from coterie.dsl.values import Json
from coterie.evals.document_schemas import DocumentKind
from coterie.evals.document_schemas import schema_of as made_schema_of
from tests.law.sources import ROOT

schema_of = cache(made_schema_of)
"""Each schema, made once: nothing here changes one."""


def definitions(of: str = "document") -> dict[str, Json]:
    return cast("dict[str, Json]", schema_of(of)["$defs"])


def properties(schema: Json) -> dict[str, Json]:
    return cast("dict[str, Json]", schema["properties"])


@pytest.mark.parametrize("of", get_args(DocumentKind))
def test_the_schema_in_the_repository_is_what_the_models_give(of: str) -> None:
    """When this fails: coterie schema WHAT -o docs/schemas/WHAT.json."""
    shipped = (ROOT / "docs" / "schemas" / f"{of}.json").read_text()
    assert json.loads(shipped) == schema_of(of)


@pytest.mark.parametrize("of", get_args(DocumentKind))
def test_the_schema_is_a_schema_and_every_reference_leads_somewhere(of: str) -> None:
    schema = schema_of(of)
    Draft202012Validator.check_schema(schema)
    defined = cast("dict[str, Json]", schema["$defs"])
    named = {part.split('"')[0] for part in json.dumps(schema).split('"#/$defs/')[1:]}
    assert named <= set(defined)


@pytest.mark.parametrize(
    ("kind", "model"), [(kind, model) for kind, models in STEP_MODELS.items() for model in models]
)
def test_a_kind_of_step_is_described_as_its_class_is(kind: str, model: type[StepBase]) -> None:
    schema = definitions()[model.__name__]
    assert schema["description"] == (model.__doc__ or "").partition("\n\n")[0]
    assert properties(schema)["type"]["const"] == kind
    assert "kind" not in properties(schema)


def test_a_field_is_described_by_the_text_under_it() -> None:
    defs = definitions()
    loop = properties(defs["LoopStep"])
    assert loop["concurrency"]["description"] == (
        "The number of concurrent rounds of a list; each then has its own variables."
    )
    assert (
        loop["while"]["description"] == "A condition, evaluated before each round."
    )  # known by its alias
    assert loop["when"]["description"] == "Skips the step unless this holds."  # of the base class


def test_nothing_of_the_programs_own_is_in_it() -> None:
    text = json.dumps([schema_of(of) for of in get_args(DocumentKind)])
    for word in ("x-form", '"kind": {"const"', '"terms"', '"title": ""', '"while_"', '"finally_"'):
        assert word not in text


def test_every_older_form_is_marked_as_one() -> None:
    older = {name: schema for name, schema in definitions().items() if name.startswith("Older")}
    assert len(older) >= 8
    assert all(schema.get("deprecated") for schema in older.values())


def test_the_command_prints_the_schema_or_writes_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["schema", "persona"]) == 0
    assert json.loads(capsys.readouterr().out) == schema_of("persona")
    assert main(["schema", "-o", "made.json"]) == 0
    assert json.loads((tmp_path / "made.json").read_text()) == schema_of("document")
    assert main(["schema", "-o", "nowhere/made.json"]) == 2
    assert "could not write nowhere/made.json: No such file" in capsys.readouterr().err
