"""What a message of an A2A client means: inputs, an answer, a decision; and its numbers."""

from collections.abc import Sequence

import pytest
from a2a.helpers.proto_helpers import new_data_part, new_text_part
from a2a.types import Message, Part
from pydantic import JsonValue

from coterie.dsl.exact_numbers import inexact_path, is_exact
from coterie.dsl.values import Json
from coterie.gateway.doors.a2a.message_contents import (
    MessageContent,
    answer_to,
    session_context,
    session_message,
    start_context,
)
from coterie.gateway.doors.a2a.task_messages import content_of, part_of
from coterie.gateway.operations.error_reports import Rejection
from coterie.workflows.core.requests import Pending

SCHEMA: Json = {
    "properties": {
        "topic": {"type": "string"},
        "note": {"type": "string", "default": ""},
        "size": {"type": "integer"},
    },
    "required": ["topic", "size"],
}
SINCE = "2026-11-29T00:00:00+00:00"
SIGN = Pending(id="review/sign#1", prompt="Publish?", digest="d1", since=SINCE)
PAY = Pending(id="pay/sign#2", prompt="Pay?", digest="d2", digest_required=True, since=SINCE)
FORM: Json = {"type": "object", "properties": {"colour": {"type": "string"}}}
WHICH = Pending(
    id="ask/which#1",
    prompt="Which colour?",
    digest="d3",
    since=SINCE,
    is_question=True,
    editable=True,
    payload_schema=FORM,
)


def said(*parts: JsonValue) -> MessageContent:
    texts = tuple(part for part in parts if isinstance(part, str))
    return MessageContent(texts, tuple(part for part in parts if not isinstance(part, str)))


def test_data_parts_are_the_inputs_and_a_text_is_the_one_that_is_missing() -> None:
    assert start_context(said({"size": 3}, "tides"), SCHEMA) == {"size": 3, "topic": "tides"}
    given = said({"size": 3, "topic": "tides"}, "a note")
    assert start_context(given, SCHEMA)["note"] == "a note"
    two: Json = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    with pytest.raises(Rejection, match="2 inputs of the team take one"):
        start_context(said("tides"), two)
    with pytest.raises(Rejection, match="not an object"):
        start_context(said([1]), SCHEMA)


@pytest.mark.parametrize(
    ("text", "act", "comment"),
    [
        ("approve", "approve", ""),
        (" Approve \nfine", "approve", "fine"),
        ("REJECT\ntoo dear", "reject", "too dear"),
        ("retry", "retry", ""),
    ],
)
def test_one_word_decides_and_the_lines_below_are_the_comment(
    text: str, act: str, comment: str
) -> None:
    answer = answer_to(said(text), [SIGN])
    assert (answer.act, answer.comment, answer.digest) == (act, comment, "d1")


@pytest.mark.parametrize(
    "text", ["I do not approve", "approved", "yes", "approve?", "", "please approve", "skip"]
)
def test_no_other_text_decides(text: str) -> None:
    with pytest.raises(Rejection, match="decides nothing"):
        answer_to(said(text), [SIGN])


def test_a_decision_names_its_request_where_several_wait() -> None:
    with pytest.raises(Rejection, match="does not say which one"):
        answer_to(said("approve"), [SIGN, PAY])
    with pytest.raises(Rejection, match="no request 'x' waits"):
        answer_to(said({"decision": "approve", "request": "x"}), [SIGN, PAY])
    answer = answer_to(said({"decision": "reject", "request": PAY.id, "digest": "d2"}), [SIGN, PAY])
    assert (answer.request, answer.act, answer.digest, answer.has_payload) == (
        *(PAY, "reject", "d2"),
        False,
    )
    with_value = answer_to(said({"decision": "approve", "payload": None}), [SIGN])
    assert with_value.has_payload


def test_who_must_name_a_digest_gets_none_for_free() -> None:
    assert answer_to(said("approve"), [PAY]).digest is None
    assert answer_to(said({"decision": "approve"}), [PAY]).digest is None


@pytest.mark.parametrize("data", [{"verdict": "approve"}, {"decision": "maybe"}, {"decision": 1}])
def test_other_data_decides_nothing(data: dict[str, JsonValue]) -> None:
    with pytest.raises(Rejection, match="decision"):
        answer_to(said(data), [SIGN])


def test_a_text_or_an_object_answers_a_question() -> None:
    for content in (said("blue"), said({"colour": "blue"})):
        answer = answer_to(content, [WHICH])
        assert (answer.act, answer.payload) == ("approve", {"colour": "blue"})
    assert answer_to(said({"decision": "reject"}), [WHICH]).act == "reject"


def test_a_message_of_a_session_is_one_text_or_one_value() -> None:
    assert session_message(said("a", "b")) == "a\nb"
    assert session_message(said({"a": 1})) == {"a": 1}
    for content in (said("a", {"b": 1}), said(1, 2)):
        with pytest.raises(Rejection):
            session_message(content)
    assert session_context({"context": {"a": 1}}) == {"a": 1}
    with pytest.raises(Rejection):
        session_context({"context": [1]})


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": [1, 2**53]}, "a[1]"),
        (-(2**53), "the value"),
        ({"a": {"b": 1e300}}, "a.b"),
        ({"a": 2**53 - 1, "b": 0.5, "c": True, "d": None}, None),
    ],
)
def test_numbers_without_a_float_of_their_own_are_named(value: JsonValue, path: str | None) -> None:
    assert inexact_path(value) == path
    assert is_exact(value) == (path is None)


def deep(levels: int) -> JsonValue:
    value: JsonValue = 1
    for _ in range(levels):
        value = [value]
    return value


VALUES: Sequence[JsonValue] = [
    *("a text", None, True, 7, 0.5, -1, [1, [2, {"a": 3}]], {}, {"a": None}),
    *(2**53, {"order": 2**63 + 1}, deep(90), {"big": -(2**70)}),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: str(value)[:20])
def test_each_value_arrives_as_it_was_sent(value: JsonValue) -> None:
    part = Part.FromString(part_of(value).SerializeToString())
    content = content_of(Message(parts=[part]))
    found = content.text if isinstance(value, str) else content.values[0]
    assert (found, repr(found)) == (value, repr(value))


@pytest.mark.parametrize(
    ("part", "code"),
    [
        (Part(url="http://127.0.0.1/x"), "unsupported_part"),
        (Part(raw=b"x"), "unsupported_part"),
        (Part(), "unsupported_part"),
        (new_data_part({"order": 2**53}), "inexact_number"),
        (Part(text="{", media_type="application/json"), "invalid"),
        (Part(text='{"a": 1, "a": 2}', media_type="application/json; x"), "invalid"),
    ],
)
def test_parts_that_teams_cannot_read_are_refused(part: Part, code: str) -> None:
    with pytest.raises(Rejection) as refused:
        content_of(Message(parts=[part]))
    assert refused.value.code == code


def test_a_message_without_parts_or_with_very_many_is_refused() -> None:
    for parts in ([], [new_text_part("x")] * 101):
        with pytest.raises(Rejection, match="parts"):
            content_of(Message(parts=parts))
