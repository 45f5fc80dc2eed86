"""The page of tool functions is the one that their contracts make."""

from collections.abc import Iterator
from typing import cast

from coterie.activities.contracts import FailureType
from coterie.activities.tool_functions.function_registry import contracts
from coterie.dsl.values import Json
from tests.law.documents.pages import text
from tests.support.documents.tool_functions_page import tool_functions_page

FAILURES = {value for name, value in vars(FailureType).items() if name.isupper()}


def test_functions_page_is_current() -> None:
    assert text("tool-functions.md") == tool_functions_page(contracts()), (
        "run `python -m tests.support.documents.tool_functions_page > docs/tool-functions.md`"
    )


def test_functions_page_shows_every_key_and_error_of_every_function() -> None:
    for contract in contracts().values():
        chapter = text("tool-functions.md").split(f"## {contract.name}\n")[1].split("\n## ")[0]
        for schema in (contract.input_schema, contract.output_schema):
            for key in cast("Json", schema.get("properties", {})):
                assert f"| `{key}` |" in chapter
        for error in contract.errors:
            assert f"| `{error}` |" in chapter


def test_function_contract_describes_every_key() -> None:
    undescribed = [
        f"{contract.name}: {name}.{key}"
        for contract in contracts().values()
        for schema in (contract.input_schema, contract.output_schema)
        for name, key, described in _keys(schema)
        if not described
    ]
    assert undescribed == []


def test_function_contract_names_real_failure_types_and_unknown_outcomes_only_for_once() -> None:
    for contract in contracts().values():
        assert {FailureType.FUNCTION_REFUSED, FailureType.FUNCTION_FAILED} <= contract.errors.keys()
        assert contract.errors.keys() <= FAILURES
        assert (FailureType.OUTCOME_UNKNOWN in contract.errors) == (contract.effect == "once")


def _keys(schema: Json, name: str = "") -> Iterator[tuple[str, str, bool]]:
    """`(object, key, whether it has a description)` of a schema and its definitions."""
    for key, one in cast("dict[str, Json]", schema.get("properties", {})).items():
        yield name, key, "description" in one
    for key, one in cast("dict[str, Json]", schema.get("$defs", {})).items():
        yield from _keys(one, key)
