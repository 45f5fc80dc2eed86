"""The OpenAPI document comes from the table of operations, and is valid."""

from functools import cache
from http import HTTPStatus
from typing import Any, cast, get_args

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from coterie.gateway.app import application, openapi_of
from coterie.gateway.doors.webhooks.webhook_door import HOOKS
from coterie.gateway.endpoints import API, path_fields
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import ErrorReport
from coterie.gateway.operations.operation import AnyOperation
from coterie.gateway.operations.operations_table import OPERATIONS
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.request_gate import (
    A2A_PATH,
    AGUI_PATH,
    MAX_HEADER,
    MAX_PATH,
    MCP_PATH,
    OPENAI_PATHS,
    SLACK_PATH,
    refuse_head,
)
from coterie.workflows.core.senders import Door
from tests.law.documents.pages import chapters, quoted, rows
from tests.support.documents.operations_page import operation_rows
from tests.support.places import ROOT


@cache
def document() -> dict[str, Any]:
    """The document of the API; it reaches no run."""

    async def nobody(_: object) -> Identity | None:
        return None

    nothing = cast("Any", None)
    return openapi_of(application(RunAccess(nothing, nothing), nobody))


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


BOUNDS = {
    "string": {"maxLength", "enum", "const"},
    "array": {"maxItems"},
    "integer": {"maximum"},
    "number": {"maximum"},
}


def unbounded(schema: Any, at: str, seen: frozenset[str] = frozenset()) -> list[str]:
    """Parts of what a request sends for which the document gives no bound.

    A JSON value of any form has only that of the body.
    """
    found: list[str] = []
    if isinstance(schema, list):
        for part in cast("list[Any]", schema):
            found += unbounded(part, at, seen)
    if not isinstance(schema, dict):
        return found
    parts = cast("dict[str, Any]", schema)
    name = str(parts.get("$ref", "")).rpartition("/")[2]
    if name and name not in seen:
        return unbounded(document()["components"]["schemas"][name], f"{at} {name}", seen | {name})
    bounds = BOUNDS.get(str(parts.get("type")))
    if bounds is not None and not bounds & set(parts):
        found.append(at)
    for key, part in parts.items():
        found += unbounded(part, f"{at}.{key}", seen)
    return found


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_each_text_list_and_number_of_a_request_is_bounded(operation: AnyOperation) -> None:
    entry = document()["paths"][f"{API}{operation.path}"][operation.method.lower()]
    for given in ("parameters", "requestBody"):
        assert unbounded(entry.get(given), given) == []


def test_the_bounds_of_a_header_let_each_valid_address_through() -> None:
    """A character takes at most twelve bytes: four, each as `%XX`."""
    for operation in OPERATIONS:
        entry = document()["paths"][f"{API}{operation.path}"][operation.method.lower()]
        sizes = {"path": len(f"{API}{operation.path}"), "query": 0}
        for given in entry.get("parameters", []):
            texts = [given["schema"], *given["schema"].get("anyOf", [])]
            longest = max(text.get("maxLength", 20) for text in texts)
            sizes[given["in"]] += len(given["name"]) + 2 + 12 * longest
        assert sizes["path"] <= MAX_PATH
        assert sizes["path"] + sizes["query"] <= MAX_HEADER - 8_000  # cookies, and what proxies add


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


def test_the_page_compares_every_door_by_its_path() -> None:
    table = list(rows(chapters("serve.md")["The doors"]))
    recorded = [quoted(row["Door"])[0] for row in table]
    assert sorted(recorded) == sorted({*get_args(Door)} - {"host"})
    paths = [path for row in table for path in quoted(row["Path"])]
    known = {API, "/", MCP_PATH, *OPENAI_PATHS, AGUI_PATH, A2A_PATH, SLACK_PATH, HOOKS}
    assert sorted(paths) == sorted(known)


@pytest.mark.parametrize("status", [400, 414, 431])
def test_what_cannot_be_read_is_refused_in_our_form(status: int) -> None:
    response = refuse_head(HTTPStatus(status))
    assert response.status_code == status
    report = ErrorReport.model_validate_json(bytes(response.body))
    assert report.code in ("too_long", "unreadable_request")
