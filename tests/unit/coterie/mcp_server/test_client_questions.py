"""What the person at an MCP client may answer, and what an answer decides."""

import pytest
from pydantic import JsonValue

from coterie.dsl.values import Json
from coterie.mcp_server.client_questions import (
    FormReply,
    McpClient,
    decisions_of,
    question_key,
    questions_for,
)
from coterie.workflows.core.requests import Pending

CLIENT = McpClient(name="desk\x1b", answers=True)
REQUEST = Pending(
    id="trip/sign#1", prompt="Book\x1b[2J it?", digest="d" * 64, since="now", via="mcp"
)
TEXTS: Json = {"type": "object", "properties": {"day": {"type": "string", "default": "x"}}}


def pending(**update: object) -> Pending:
    return REQUEST.model_copy(update=update)


@pytest.mark.parametrize(
    ("update", "open_to_it"),
    [
        ({}, True),
        ({"via": None}, False),
        ({"via": None, "is_question": True}, True),
        ({"approvers": ("ada",)}, False),
        ({"approvers": ("mcp:desk\\u001b",)}, True),
        ({"is_question": True, "approvers": ("ada",)}, False),
        ({"choices": ("retry", "skip", "fail")}, False),
    ],
)
def test_a_client_is_asked_what_it_may_answer(update: dict[str, object], open_to_it: bool) -> None:
    request = pending(**update)
    assert bool(questions_for([request], CLIENT, None)) == open_to_it
    reply = {question_key(request): FormReply(action="accept", content={})}
    assert bool(decisions_of([request], reply, CLIENT)) == open_to_it


@pytest.mark.parametrize(
    ("update", "approver", "by"),
    [
        ({}, "token desk", "token desk"),
        ({}, "", None),
        ({"approvers": ("token desk",)}, "token desk", "token desk"),
        ({"approvers": ("mcp:desk (token)",)}, "token desk", None),
        ({"via": None, "is_question": True}, "", "mcp:desk (token)"),
        ({"via": None, "is_question": True}, "token desk", "token desk"),
    ],
)
def test_a_verified_client_decides_approvals_in_its_name_of_an_approver_or_none(
    update: dict[str, object], approver: str, by: str | None
) -> None:
    client = McpClient(name="desk (token)", approver=approver, answers=True)
    request = pending(**update)
    assert bool(questions_for([request], client, None)) == (by is not None)
    reply = {question_key(request): FormReply(action="accept", content={})}
    decisions = decisions_of([request], reply, client)
    assert [one.by for one in decisions] == ([] if by is None else [by])


@pytest.mark.parametrize(
    ("schema", "form"),
    [
        (
            {**TEXTS, "additionalProperties": False, "required": ["day"]},
            {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]},
        ),
        (
            {"properties": {"a": {"enum": ["x", "y"]}}},
            {
                "type": "object",
                "properties": {"a": {"type": "string", "enum": ["x", "y"]}},
                "required": [],
            },
        ),
        ({"properties": {"a": {"type": "array"}}}, None),
        ({"properties": {"a": {"$ref": "#/$defs/a"}}}, None),
        ({"type": "object"}, None),
        ({"properties": {str(n): {"type": "string"} for n in range(21)}}, None),
    ],
)
def test_a_form_has_plain_fields_or_is_not_shown(schema: Json, form: Json | None) -> None:
    shown = questions_for([pending(editable=True, payload_schema=schema)], CLIENT, None)
    assert [one.form for one in shown] == ([] if form is None else [form])


def test_a_form_begins_with_the_value_shown() -> None:
    request = pending(editable=True, payload_schema=TEXTS, show={"day": "Monday"})
    [shown] = questions_for([request], CLIENT, None)
    assert shown.form["properties"] == {"day": {"type": "string", "default": "Monday"}}
    assert shown.message == 'Book\\u001b[2J it?\n\n{\n  "day": "Monday"\n}'


def test_a_changed_request_has_another_key() -> None:
    replies = {question_key(pending()): FormReply(action="accept")}
    for digest in ("e" * 64, "d" * 63 + "e"):
        after = pending(digest=digest, edited=True)
        assert decisions_of([after], replies, CLIENT) == ()


def test_a_question_that_is_cut_says_so() -> None:
    [shown] = questions_for([pending(prompt="Pay " + "x" * 2_000 + " to Mallory?")], CLIENT, None)
    assert shown.message.endswith("x (shortened; `coterie pending` shows all of it)")


@pytest.mark.parametrize(
    ("action", "content", "decided"),
    [
        ("accept", {"comment": "go"}, ("approve", "go", False, None)),
        ("accept", None, ("approve", "", False, None)),
        ("decline", {"comment": "go"}, ("reject", "declined", False, None)),
        ("cancel", None, None),
    ],
)
def test_an_answer_decides_in_the_name_of_the_client(
    action: str, content: Json | None, decided: tuple[str, str, bool, JsonValue] | None
) -> None:
    request = pending()
    reply = FormReply.model_validate({"action": action, "content": content})
    found = decisions_of([request], {question_key(request): reply}, CLIENT)
    given = ["payload" in one.model_fields_set for one in found]
    assert [
        (one.decision, one.comment, with_value, one.payload)
        for one, with_value in zip(found, given, strict=True)
    ] == ([] if decided is None else [decided])
    assert all((one.by, one.digest) == ("mcp:desk\\u001b", "d" * 64) for one in found)


def test_the_content_of_a_form_is_the_value_approved() -> None:
    request = pending(editable=True, payload_schema=TEXTS)
    reply = FormReply(action="accept", content={"day": "Friday"})
    [decision] = decisions_of([request], {question_key(request): reply}, CLIENT)
    assert "payload" in decision.model_fields_set
    assert decision.payload == {"day": "Friday"}
