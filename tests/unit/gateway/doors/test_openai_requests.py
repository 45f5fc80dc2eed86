"""What clients of OpenAI's API send: which message is new, what is refused, what ids say."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.activities.contracts import TokenUsage
from coterie.gateway.doors.openai import server_events
from coterie.gateway.doors.openai.asked_parameters import (
    IGNORED,
    ChatAsked,
    ResponseAsked,
    asked_by,
    chat_texts,
    read_asked,
)
from coterie.gateway.doors.openai.chat_completions import ChatCompletion
from coterie.gateway.doors.openai.conversation import (
    ChatText,
    SentConversation,
    conversation_of,
    waiting_mark,
)
from coterie.gateway.doors.openai.openai_errors import ParameterRejection
from coterie.gateway.doors.openai.response_objects import (
    ResponseId,
    ResponseObject,
    read_response_id,
)
from coterie.gateway.doors.openai.server_events import awaited_events
from coterie.gateway.doors.openai.team_answers import TeamAnswer
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.sessions.answer_text import text_of

HELLO: list[Any] = [{"role": "user", "content": "hello"}]


def read(*texts: str, scope: Sequence[str] = ("ann",)) -> SentConversation:
    """A conversation of `u:...` and `a:...`."""
    roles: Any = {"u": "user", "a": "assistant", "s": "system"}
    return conversation_of([ChatText(roles[text[0]], text[2:]) for text in texts], scope)


def test_the_same_texts_are_the_same_message_of_the_same_owner_alone() -> None:
    one, two = read("s:be kind", "u:a"), read("s:be kind", "u:a", "a:b", "u:c")
    assert one == read("s:be kind", "u:a")
    assert two.opening == one.opening
    assert two.answered == one.turn
    assert two.turn.id != one.turn.id
    assert one.instructions == "be kind"
    others = [read("s:be curt", "u:a"), read("u:a"), read("s:be kind", "u:a", scope=("ben",))]
    assert len({one.opening, *(other.opening for other in others)}) == 4


def test_a_session_takes_what_follows_its_newest_message() -> None:
    first = read("u:a")
    later = read("u:a", "a:b", "u:c")
    assert first.follows(None)
    assert first.follows(first.turn.id), "sent again"
    assert later.follows(first.turn.id)
    assert later.follows(later.turn.id)
    assert not later.follows(None), "what came before would be missing"
    changed = read("u:a", "a:b", "u:d")
    assert not changed.follows(later.turn.id)


def test_messages_without_an_answer_are_sent_with_the_next_one() -> None:
    asked = read("u:a", "a:b", "u:c", "u:d")
    lost = read("u:a", "a:b", "u:c").turn.id
    assert asked.follows(lost)
    assert asked.text_after(lost) == "d"
    assert asked.text_after(read("u:a").turn.id) == "c\n\nd"


def test_a_session_that_has_nothing_of_a_conversation_gets_all_of_it() -> None:
    asked = read("s:be kind", "u:a", "a:b", "u:c", "u:d")
    assert asked.whole_text() == (
        "The conversation so far:\n\nuser: a\n\nassistant: b\n\nThe newest message:\n\nc\n\nd"
    )


def test_after_an_answer_that_waits_the_next_message_asks_for_the_same_one() -> None:
    first = read("u:a").turn.id
    waits = f"a:decide at http://localhost/runs/x{waiting_mark(first)}"
    asked = read("u:a", waits, "u:well?", waits, "u:go on")
    assert asked.collects
    assert asked.turn.id == first
    assert asked.follows(first)
    assert not asked.follows(None)
    later = read("u:a", waits, "u:go on", "a:done", "u:more")
    assert not later.collects
    assert later.follows(first)
    other = read("u:a", f"a:{waiting_mark('0' * 32)}", "u:go on")
    assert not other.collects, "the mark is that of another message"


@pytest.mark.parametrize("texts", [["a:b"], ["u:a", "a:b"], ["s:only"]])
def test_a_conversation_must_end_with_the_user(texts: list[str]) -> None:
    with pytest.raises(Rejection, match="last message"):
        read(*texts)


def chat(**extra: object) -> bytes:
    return json.dumps({"model": "talk", "messages": HELLO, **extra}).encode()


@pytest.mark.parametrize("name", sorted(IGNORED))
def test_what_the_personas_decide_is_ignored(name: str) -> None:
    assert read_asked(chat(**{name: 1}), ChatAsked).model == "talk"


@pytest.mark.parametrize(
    ("name", "neutral", "refused"),
    [
        ("n", 1, 2),
        ("tools", [], [{"type": "function"}]),
        ("tool_choice", "auto", "required"),
        ("logprobs", False, True),
        ("logit_bias", {}, {"1": 5}),
        ("stop", None, ["x"]),
        ("response_format", {"type": "text"}, {"type": "json_object"}),
        ("modalities", ["text"], ["audio"]),
        ("background", False, True),
    ],
)
def test_what_a_team_cannot_do_is_refused_by_name(
    name: str, neutral: object, refused: object
) -> None:
    read_asked(chat(**{name: neutral}), ChatAsked)
    with pytest.raises(ParameterRejection, match=f"'{name}'") as error:
        read_asked(chat(**{name: refused}), ChatAsked)
    assert error.value.parameter == name


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        (b"{", ""),
        (b"[]", ""),
        (b"[" * 100_000, ""),
        (b'{"model": "x", "model": "y"}', ""),
        (b'{"model": 1, "messages": []}', "model"),
        (b'{"model": "talk"}', "messages"),
        (chat(temprature=1), "temprature"),
        (chat(stream_options={"include": 1}), "stream_options.include"),
        (chat(metadata=[]), "metadata"),
    ],
)
def test_a_body_that_does_not_fit_is_refused_with_its_parameter(
    body: bytes, parameter: str
) -> None:
    with pytest.raises(ParameterRejection) as error:
        read_asked(body, ChatAsked)
    assert error.value.parameter == parameter


NO_TEXTS: list[tuple[dict[str, Any], str]] = [
    ({"role": "tool", "content": "x"}, "messages[0].role"),
    ({"content": "x"}, "messages[0].role"),
    ({"role": "user", "content": [{"type": "image_url"}]}, "messages[0].content[0]"),
    ({"role": "user", "content": 3}, "messages[0].content"),
    ({"role": "assistant", "tool_calls": [{}]}, "messages[0].tool_calls"),
    ({"type": "function_call_output"}, "messages[0].type"),
]


@pytest.mark.parametrize(("message", "parameter"), NO_TEXTS)
def test_a_message_that_is_no_text_is_refused_with_its_place(message: Any, parameter: str) -> None:
    with pytest.raises(ParameterRejection) as error:
        chat_texts([message], "messages")
    assert error.value.parameter == parameter


def test_parts_of_a_message_are_one_text() -> None:
    parts: Any = [{"type": "input_text", "text": "a"}, {"type": "text", "text": "b"}]
    assert chat_texts([{"role": "user", "content": parts}], "input") == [ChatText("user", "ab")]
    with pytest.raises(ParameterRejection):
        chat_texts([], "messages")
    with pytest.raises(ParameterRejection):
        chat_texts(HELLO * 2_001, "messages")


def test_a_session_is_named_by_the_header_before_the_metadata() -> None:
    asked = read_asked(chat(metadata={"session": "b"}, user="ann"), ChatAsked)
    assert asked_by(asked, "a") == ("ann", "a")
    assert asked_by(asked, None) == ("ann", "b")
    for name in ("x" * 201, "two\nlines", "\u202e"):
        with pytest.raises(ParameterRejection):
            asked_by(asked, name)
    plain = read_asked(b'{"model": "talk", "input": "hello"}', ResponseAsked)
    assert asked_by(plain, None) == ("", "")


@given(st.text(min_size=1, max_size=50), st.booleans())
def test_the_id_of_a_response_is_read_back(run: str, waits: bool) -> None:
    made = ResponseId(run, "0" * 32, waits)
    try:
        run.encode()
    except UnicodeEncodeError:
        return
    assert read_response_id(str(made)) == made


@given(st.text(max_size=60))
def test_what_is_no_id_of_a_response_is_none(text: str) -> None:
    found = read_response_id(f"resp_{text}")
    assert found is None or len(found.message) == 32
    assert read_response_id(text.replace("resp_", "")) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        ({"text": "said"}, "said"),
        ({"summary": "only one"}, "only one"),
        ({"draft": {"text": "inner"}}, "inner"),
        ({"a": 1, "b": "x"}, '{\n  "a": 1,\n  "b": "x"\n}'),
        ([1], "[\n  1\n]"),
    ],
)
def test_a_reply_becomes_the_text_of_an_answer(value: Any, text: str) -> None:
    assert text_of(value) == text


async def events_of(
    answer: asyncio.Future[TeamAnswer], stop: asyncio.Event, made: ChatCompletion
) -> AsyncGenerator[str]:
    """The events of a stream, as a client reads them."""
    async for event in awaited_events(made, answer, None, stop):
        yield event.decode()


COMPLETION = ChatCompletion("0" * 32, "talk", 1, with_usage=True)


async def test_comments_keep_a_stream_open_until_the_answer_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_events, "COMMENT_SECONDS", 0.01)
    answer = asyncio.get_running_loop().create_future()
    seen: list[str] = []
    async for event in events_of(answer, asyncio.Event(), COMPLETION):
        seen.append(event)
        if event.startswith(":") and not answer.done():
            answer.set_result(TeamAnswer("x" * 5_000, TokenUsage(3, 4)))
    assert ": working\n\n" in seen
    data = [json.loads(event[6:]) for event in seen if event.startswith("data: {")]
    deltas = [choice["delta"] for event in data for choice in event["choices"]]
    assert "".join(delta.get("content", "") for delta in deltas) == "x" * 5_000
    assert data[-1]["usage"]["total_tokens"] == 7
    assert seen[-1] == "data: [DONE]\n\n"


async def test_an_error_ends_a_stream_and_so_does_the_end_of_the_gateway() -> None:
    failing = asyncio.get_running_loop().create_future()
    failing.set_exception(Rejection(409, "moved_on", "too late"))
    seen = [event async for event in events_of(failing, asyncio.Event(), COMPLETION)]
    assert json.loads(seen[-1][6:])["error"]["code"] == "moved_on"
    stop = asyncio.Event()
    stop.set()
    never: asyncio.Future[TeamAnswer] = asyncio.get_running_loop().create_future()
    ended = [event async for event in events_of(never, stop, COMPLETION)]
    assert len(ended) == 1


def data_of(events: Iterable[bytes]) -> list[Any]:
    """The JSON of events."""
    lines = b"".join(events).decode().split("\n")
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


def test_an_answer_continues_the_text_that_was_sent() -> None:
    events = data_of([*COMPLETION.piece("It "), *COMPLETION.closing(answered("It rains."), "It ")])
    deltas = [choice["delta"] for event in events for choice in event["choices"]]
    assert "".join(delta.get("content", "") for delta in deltas) == "It rains."


def test_a_chat_completion_whose_text_does_not_count_ends_with_an_error() -> None:
    events = data_of(COMPLETION.closing(answered("Sun."), "It "))
    assert [event["error"]["code"] for event in events] == ["answer_changed"]


def test_a_response_whose_text_does_not_count_has_the_answer_in_its_next_item() -> None:
    made = ResponseObject("run", "0" * 32, "talk", 1, {}, None)
    events = data_of([*made.opening(), *made.piece("It "), *made.closing(answered("Sun."), "It ")])
    ends = [event for event in events if event["type"] == "response.output_item.done"]
    assert [(it["output_index"], it["item"]["status"]) for it in ends] == [
        (0, "incomplete"),
        (1, "completed"),
    ]
    assert len({it["item"]["id"] for it in ends}) == 2
    deltas = [event for event in events if event["type"] == "response.output_text.delta"]
    assert [(it["output_index"], it["delta"]) for it in deltas] == [(0, "It "), (1, "Sun.")]
    (item,) = events[-1]["response"]["output"]
    assert item["content"][0]["text"] == "Sun."
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


def answered(text: str) -> TeamAnswer:
    return TeamAnswer(text, TokenUsage(3, 4))
