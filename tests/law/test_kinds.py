"""Closed sets are complete: step kinds, operators, providers and commands have all their parts."""

import re
from typing import get_args

import pytest
import yaml

from coterie.activities.providers.provider_registry import KINDS
from coterie.commands.table import VERBS
from coterie.dsl.evaluate.operator_table import OPERATORS
from coterie.dsl.kinds import KINDS as STEP_KIND_OBJECTS
from coterie.dsl.model.conditions import ContextField, Operator
from coterie.dsl.model.steps import STEP_KINDS, STEP_MODELS, STEP_OF_TAG
from coterie.dsl.model.vendors.vendors import BUILT_IN_KINDS, VENDORS
from coterie.graph.condition_labels import condition_words
from tests.law.documents.pages import STEP_PAGES, chapters_of
from tests.law.sources import ROOT
from tests.law.test_import_law import SDK_OF
from tests.support.servers.asking import KINDS as TESTED_KINDS

FILES = {"set": "set_values", "team": "team_call", "try": "try_steps", "return": "return_value"}
"""Kinds whose own name is a word of Python's, or a room's, have a longer file name."""


def test_every_kind_has_its_classes_in_the_union() -> None:
    assert all(STEP_MODELS.values())
    for kind, models in STEP_MODELS.items():
        assert {get_args(model.model_fields["kind"].annotation) for model in models} == {(kind,)}


def test_every_kind_has_one_file_in_the_language_and_one_in_the_interpreter() -> None:
    files = {file.stem for file in (ROOT / "workflows/steps").glob("*.py")} - {"__init__"}
    assert files == {FILES.get(kind, kind) for kind in STEP_KINDS}
    known = {file.stem for file in (ROOT / "dsl/kinds").glob("*.py")}
    assert known == {*files, "__init__", "kind"}


def test_every_kind_has_one_chapter_in_the_reference() -> None:
    headings = re.findall(r"^`(\w+)`$", "\n".join(chapters_of(STEP_PAGES)), re.MULTILINE)
    assert sorted(headings) == sorted(STEP_KINDS)


def test_no_field_is_called_like_a_kind_unless_it_tells_the_kind() -> None:
    """A place in a document reads `tasks[0].skill`: it must not be taken for a kind's name."""
    for model in STEP_OF_TAG.values():
        named = set(model.model_fields) & set(STEP_KINDS)
        assert named <= {*get_args(model.model_fields["kind"].annotation)}


def test_every_kind_answers_the_questions_without_a_default() -> None:
    for model in STEP_OF_TAG.values():
        assert {"filled", "fails_itself"} <= set(vars(model).keys() | vars(model.__mro__[1])), model
        assert all(key in model.model_fields for key in (*model.filled, *model.shown))


def test_every_kind_is_known_with_its_sign_and_its_first_word() -> None:
    assert list(STEP_KIND_OBJECTS) == list(STEP_KINDS)
    for one in STEP_KIND_OBJECTS.values():
        assert one.sign
        assert one.beginning is not None


def test_every_operator_has_its_row_in_the_table_of_operators() -> None:
    assert sorted(get_args(Operator)) == sorted(OPERATORS)
    for operator in OPERATORS:
        assert condition_words(ContextField(context_field="a", operator=operator, value=None))


def test_every_provider_kind_has_a_loader() -> None:
    assert sorted(BUILT_IN_KINDS) == sorted(KINDS)
    assert SDK_OF.keys() == KINDS.keys(), "its SDK, which its own file alone imports, or None"
    assert VENDORS.keys() == set(TESTED_KINDS), "the tests ask it over HTTP"


@pytest.mark.parametrize("kind", VENDORS)
def test_the_key_of_every_provider_is_known_wherever_a_user_looks(kind: str) -> None:
    variable = VENDORS[kind].key_env
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert variable in compose["services"]["worker"]["environment"]
    for project in ("project", "tool_project"):
        created = yaml.safe_load((ROOT / f"config/{project}/coterie.yml").read_text())
        assert created["llm_config"]["providers"][kind]["api_key_env"] == variable
    for page in ("docs/models.md", "docs/operating.md", "config/system_config.yml"):
        assert variable in (ROOT / page).read_text(), page


def test_the_language_names_every_kind_of_provider() -> None:
    (row,) = re.findall(
        r"^\| `kind` \| (.*scripted.*)$", (ROOT / "docs/models.md").read_text(), re.M
    )
    assert KINDS.keys() <= set(re.findall(r"`(\w+)`", row))


def test_every_command_is_in_the_readme() -> None:
    (chapter,) = re.findall(
        r"^## Commands$(.*?)^## ", (ROOT / "README.md").read_text(), re.M | re.S
    )
    first_column = " ".join(re.findall(r"^\| (`.*?) \|", chapter, re.M))
    named = set(re.findall(r"`(?:coterie )?([a-z]+)", first_column))
    assert VERBS.keys() <= named
