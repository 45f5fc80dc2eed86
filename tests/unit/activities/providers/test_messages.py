"""Messages of conversations: their text, their calls, and the JSON that the store keeps."""

import json
from dataclasses import fields
from typing import get_args

import pytest
from hypothesis import given
from pydantic import JsonValue

from coterie.activities.providers.message_json import (
    UnreadableMessage,
    content_from_json,
    content_to_json,
    message_from_json,
    message_to_json,
)
from coterie.activities.providers.message_model import (
    ImagePart,
    ModelMessage,
    OpaquePart,
    Part,
    StoredPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from tests.support.messages import messages


@given(messages())
def test_a_message_survives_its_json(message: ModelMessage) -> None:
    wire = json.loads(json.dumps(message_to_json(message)))
    assert message_from_json(wire) == message


@given(messages())
def test_the_json_of_a_message_has_the_same_bytes_each_time(message: ModelMessage) -> None:
    again = message_from_json(message_to_json(message))
    assert json.dumps(message_to_json(again)) == json.dumps(message_to_json(message))


def test_plain_text_is_a_string_as_in_turns_that_were_stored_before() -> None:
    assert content_to_json((TextPart("Go."),)) == "Go."
    assert content_from_json("Go.") == (TextPart("Go."),)


def test_the_json_names_each_part() -> None:
    content = (
        TextPart("look"),
        ImagePart("image/png", b"\x89PNG"),
        StoredPart("a1"),
        ToolResultPart("call_1", "21", is_error=True),
        ToolResultPart("call_2", "", media=(StoredPart("a1"),)),
        ToolCallPart("call_2", "add", '{"a": 1}', {"gemini": {"signature": "s"}}),
        ThinkingPart("anthropic", "claude", {"signature": "s"}),
        OpaquePart("anthropic", {"type": "server_tool_use"}),
    )
    assert content_to_json(content) == [
        {"type": "text", "text": "look"},
        {"type": "image", "media_type": "image/png", "data": "iVBORw=="},
        {"type": "stored", "name": "a1"},
        {"type": "tool_result", "call_id": "call_1", "text": "21", "is_error": True},
        {"type": "tool_result", "call_id": "call_2", "text": "", "media": [{"name": "a1"}]},
        {
            "type": "tool_call",
            "id": "call_2",
            "name": "add",
            "arguments": '{"a": 1}',
            "extra": {"gemini": {"signature": "s"}},
        },
        {
            "type": "thinking",
            "provider": "anthropic",
            "model": "claude",
            "opaque": {"signature": "s"},
        },
        {"type": "opaque", "provider": "anthropic", "item": {"type": "server_tool_use"}},
    ]


def test_the_text_of_a_message_is_only_what_was_said() -> None:
    message = ModelMessage(
        "assistant",
        (
            ThinkingPart("anthropic", "claude", {"thinking": "hm"}),
            TextPart("I look "),
            ToolCallPart("call_1", "look", "{}"),
            TextPart("it up."),
        ),
    )
    assert message.text == "I look it up."


def test_a_picture_is_not_printed() -> None:
    assert "PNG" not in repr(ImagePart("image/png", b"\x89PNG"))


def test_no_part_is_without_a_test_of_its_json() -> None:
    assert {part.__name__ for part in get_args(Part)} == {
        "ImagePart",
        "OpaquePart",
        "StoredPart",
        "TextPart",
        "ThinkingPart",
        "ToolCallPart",
        "ToolResultPart",
    }
    assert all(fields(part) for part in get_args(Part))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "a message has a `role`, user or assistant, and a `content`"),
        ({"role": "system", "content": "x"}, "a message has a `role`, user or assistant"),
        ({"role": "user", "content": "x", "name": "y"}, "a message has a `role`"),
        ({"role": "user", "content": 1}, "the content of a message is a text or a list of parts"),
        ({"role": "user", "content": ["x"]}, "a part of a message is a mapping with a `type`"),
        ({"role": "user", "content": [{"type": "song"}]}, "unknown part of a message: 'song'"),
        ({"role": "user", "content": [{"type": [1]}]}, "unknown part of a message: [1]"),
        (
            {"role": "user", "content": [{"type": "text"}]},
            "part 'text' of a message: text: Field required",
        ),
        (
            {"role": "user", "content": [{"type": "tool_call", "id": "1", "name": "a"}]},
            "part 'tool_call' of a message: arguments: Field required",
        ),
    ],
)
def test_what_is_no_message_is_refused_with_its_mistake(value: JsonValue, message: str) -> None:
    with pytest.raises(UnreadableMessage) as caught:
        message_from_json(value)
    assert str(caught.value).startswith(message)
