"""The OpenAPI document comes from the table of operations, and is valid."""

from functools import cache
from typing import Any, cast

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from coterie.gateway.app import application, openapi_of
from coterie.gateway.endpoints import API, path_fields
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.operation import AnyOperation
from coterie.gateway.operations.operations_table import OPERATIONS
from tests.support.documents.operations_page import operation_rows
from tests.support.places import ROOT


@cache
def document() -> dict[str, Any]:
    """The document of the API; it reaches no run."""

    async def nobody(_: object) -> Identity | None:
        return None

    return openapi_of(application(cast("Any", None), nobody))


def test_the_document_is_valid_openapi_3_1() -> None:
    assert document()["openapi"].startswith("3.1.")
    assert list(OpenAPIV31SpecValidator(document()).iter_errors()) == []


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_each_operation_has_its_path_its_roles_and_our_errors(operation: AnyOperation) -> None:
    entry = document()["paths"][f"{API}{operation.path}"][operation.method.lower()]
    assert entry["operationId"] == operation.name
    assert entry["summary"] == operation.sentence
    assert entry["x-roles"] == list(operation.roles)
    assert set(entry["responses"]) == {"200", "default"}
    failed = entry["responses"]["default"]["content"]["application/json"]["schema"]
    assert failed == {"$ref": "#/components/schemas/ErrorReport"}
    assert operation.roles, "an operation without a role is open to nobody"
    assert set(path_fields(operation)) <= set(operation.input.model_fields)


def test_no_input_takes_the_name_of_who_asks() -> None:
    """Only the verified identity says it."""
    for operation in OPERATIONS:
        assert not {"by", "user", "approver", "identity"} & set(operation.input.model_fields)


def test_names_paths_and_sentences_are_each_given_once() -> None:
    assert len({operation.name for operation in OPERATIONS}) == len(OPERATIONS)
    assert len({(one.method, one.path) for one in OPERATIONS}) == len(OPERATIONS)
    for operation in OPERATIONS:
        assert operation.sentence.endswith(".")
        assert operation.method == "GET" or operation.changes_something


def test_the_page_has_the_table_of_operations() -> None:
    """Renew it: python -m tests.support.documents.operations_page."""
    page = (ROOT / "docs" / "serve.md").read_text()
    assert "\n".join(operation_rows()) in page
