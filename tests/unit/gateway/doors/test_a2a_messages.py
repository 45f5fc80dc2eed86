"""What a message of an A2A client means: inputs, an answer, a decision; and its numbers."""

from collections.abc import Sequence

import pytest
from a2a.helpers.proto_helpers import new_data_part, new_text_part
from a2a.types import Message, Part
from pydantic import JsonValue

from coterie.dsl.exact_numbers import inexact_path, is_exact
from coterie.dsl.values import Json
from coterie.gateway.doors.a2a.message_contents import (
    IN_REPLY_TO,
    MessageContent,
    answer_to,
    session_context,
    session_value,
    status_answered,
    task_context,
)
from coterie.gateway.doors.a2a.task_messages import content_of, part_of
from coterie.gateway.operations.error_reports import Rejection, failed_request
from coterie.workflows.core.requests import Pending
from tests.support.compiling import plan_of

INPUTS = """
orchestration:
  entry_team: t
  context: {topic: {type: string}, note: {type: string, default: ""}, size: {type: integer}}
  teams: {t: {tasks: [{name: keep, type: set, values: {kept: 1}}]}}
"""
CHAT = """
orchestration:
  entry_team: t
  teams:
    t:
      tasks:
        - {name: heard, type: wait, message: true, deadline: 1h}
        - {name: told, type: reply, value: ok}
"""
SINCE = "2026-11-29T00:00:00+00:00"
SIGN = Pending(id="review/sign#1", prompt="Publish?", digest="d1", since=SINCE)
PAY = Pending(id="pay/sign#2", prompt="Pay?", digest="d2", digest_required=True, since=SINCE)
FAILED = Pending(
    id="pay/send/failed#1",
    prompt="Failed",
    digest="d4",
    since=SINCE,
    choices=("retry", "skip", "fail"),
)
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
    plan = plan_of(INPUTS)
    assert task_context(plan, "t", said({"size": 3}, "tides")) == {"size": 3, "topic": "tides"}
    given = said({"size": 3, "topic": "tides"}, "a note")
    assert task_context(plan, "t", given)["note"] == "a note"
    assert task_context(plan, "t", said({"size": 3})) == {"size": 3}
    with pytest.raises(Rejection, match="not an object"):
        task_context(plan, "t", said([1]))


@pytest.mark.parametrize(
    ("text", "act", "comment"),
    [
        ("approve", "approve", ""),
        (" Approve \nfine", "approve", "fine"),
        ("REJECT\ntoo dear", "reject", "too dear"),
    ],
)
def test_one_word_decides_and_the_lines_below_are_the_comment(
    text: str, act: str, comment: str
) -> None:
    answer = answer_to(said(text), [SIGN], is_reply=True)
    assert (answer.request, answer.act, answer.comment) == (SIGN, act, comment)


@pytest.mark.parametrize(
    "content", [said("approve"), said({"decision": "approve"}), said({"colour": "blue"})]
)
@pytest.mark.parametrize("pending", [(SIGN,), (PAY,), (WHICH,), (SIGN, PAY)])
def test_nothing_is_decided_about_what_the_client_may_not_have_seen(
    content: MessageContent, pending: Sequence[Pending]
) -> None:
    with pytest.raises(Rejection, match="does not show which request") as refused:
        answer_to(content, pending, is_reply=False)
    assert (refused.value.status, refused.value.code) == (409, "message_refused")
    for request in pending:
        shown = f"{request.id} (digest {request.digest}): {request.prompt}"
        assert shown in str(refused.value)
    assert "digest" in refused.value.fix
    assert IN_REPLY_TO in refused.value.fix


def test_a_digest_of_an_earlier_request_decides_nothing() -> None:
    for is_reply in (True, False):
        for decision in ({"digest": "d1"}, {"digest": "d1", "request": PAY.id}):
            content = said({"decision": "approve", **decision})
            with pytest.raises(Rejection, match="no request waits with this digest"):
                answer_to(content, [PAY], is_reply=is_reply)


def test_a_refusal_shows_a_few_of_many_requests() -> None:
    many = [SIGN.model_copy(update={"id": f"a/b#{n}", "prompt": "x" * 5_000}) for n in range(20)]
    with pytest.raises(Rejection, match="and 15 more") as refused:
        answer_to(said("approve"), many, is_reply=False)
    assert len(failed_request(refused.value).report.message) < 2_000


def test_a_failed_task_is_retried_or_skipped_and_an_approval_is_not() -> None:
    assert answer_to(said("retry"), [FAILED], is_reply=True).act == "retry"
    skip = said({"decision": "skip", "digest": "d4", "payload": 1})
    answer = answer_to(skip, [SIGN, FAILED], is_reply=False)
    assert (answer.request, answer.act, answer.payload) == (FAILED, "skip", 1)
    for act, request in (("retry", SIGN), ("skip", SIGN), ("approve", FAILED)):
        with pytest.raises(Rejection, match="takes no"):
            answer_to(said({"decision": act}), [request], is_reply=True)


@pytest.mark.parametrize(
    ("metadata", "id"),
    [({IN_REPLY_TO: "m1"}, "m1"), ({}, None), (None, None), ({IN_REPLY_TO: ["m1"]}, None)],
)
def test_a_message_may_name_the_status_that_it_answers(metadata: JsonValue, id: str | None) -> None:
    assert status_answered(metadata) == id


@pytest.mark.parametrize(
    "text", ["I do not approve", "approved", "yes", "approve?", "", "please approve", "skip"]
)
def test_no_other_text_decides(text: str) -> None:
    with pytest.raises(Rejection, match="decides nothing"):
        answer_to(said(text), [SIGN], is_reply=True)


def test_a_decision_names_its_request_where_several_wait() -> None:
    with pytest.raises(Rejection, match="does not say which one"):
        answer_to(said("approve"), [SIGN, PAY], is_reply=True)
    with pytest.raises(Rejection, match="no request 'x' waits"):
        answer_to(said({"decision": "approve", "request": "x"}), [SIGN, PAY], is_reply=True)
    for name in ({"request": PAY.id, "digest": "d2"}, {"digest": "d2"}):
        answer = answer_to(said({"decision": "reject", **name}), [SIGN, PAY], is_reply=False)
        assert (answer.request, answer.act, answer.has_payload) == (PAY, "reject", False)
    by_name = said({"decision": "approve", "request": PAY.id, "payload": None})
    with_value = answer_to(by_name, [SIGN, PAY], is_reply=True)
    assert (with_value.request, with_value.has_payload) == (PAY, True)


@pytest.mark.parametrize("data", [{"verdict": "approve"}, {"decision": "maybe"}, {"decision": 1}])
def test_other_data_decides_nothing(data: dict[str, JsonValue]) -> None:
    with pytest.raises(Rejection, match="decision"):
        answer_to(said(data), [SIGN], is_reply=True)


def test_a_text_or_an_object_answers_a_question() -> None:
    for content in (said("blue"), said({"colour": "blue"})):
        answer = answer_to(content, [WHICH], is_reply=True)
        assert (answer.act, answer.payload) == ("approve", {"colour": "blue"})
    assert answer_to(said({"decision": "reject"}), [WHICH], is_reply=True).act == "reject"


def test_a_message_of_a_session_is_one_text_or_one_value() -> None:
    plan = plan_of(CHAT)
    assert session_value(plan, said("a", "b")) == "a\nb"
    assert session_value(plan, said({"a": 1})) == {"a": 1}
    for content in (said("a", {"b": 1}), said(1, 2)):
        with pytest.raises(Rejection):
            session_value(plan, content)
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
