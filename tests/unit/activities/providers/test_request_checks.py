"""Requests that every vendor refuses are refused before they are sent."""

from typing import Any, Literal

import pytest

from coterie.activities.contracts import FailureType
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
from coterie.activities.providers.provider import ModelRequest, ProviderSettings
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.translation.prepared_requests import prepared
from coterie.activities.providers.translation.request_checks import check_request
from coterie.dsl.model.tools.tool_use import NamedTool
from coterie.dsl.tool_loop.exchange import OfferedTool

ASKED = ModelMessage.of("user", "Go.")
THOUGHT = ThinkingPart("p", "m", {})
POISONED = (
    "message 2, of the assistant, is empty or ends with thinking, which cannot stand in a "
    "conversation"
)
ADD = OfferedTool(name="add", description="Add numbers.", input_schema={"type": "object"})


def calls(*ids: str) -> ModelMessage:
    return ModelMessage("assistant", tuple(ToolCallPart(one, "add", "{}") for one in ids))


def results(*ids: str, then: Part | None = None) -> ModelMessage:
    parts: list[Part] = [ToolResultPart(one, "1") for one in ids]
    return ModelMessage("user", (*parts, *(() if then is None else (then,))))


def fault(*messages: ModelMessage, **fields: Any) -> str:
    with pytest.raises(ProviderFailure) as caught:
        send(*messages, **fields)
    assert (caught.value.kind, caught.value.retryable) == (FailureType.PROVIDER_REFUSED, False)
    what, _, said = caught.value.message.partition(": ")
    assert what == "the request for 'm-1' cannot be sent"
    return said


def send(*messages: ModelMessage, **fields: Any) -> None:
    check_request(ModelRequest(model="m-1", messages=messages, **fields))


def test_a_history_with_each_result_right_after_its_call_is_sent() -> None:
    news = TextPart("[Note: one turn is left.]")
    picture = ImagePart("image/png", b"x")
    send(ASKED)
    send(ASKED, calls("a", "b"), results("b", "a", then=news), tools=(ADD,))
    turns = (calls("a"), results("a"), calls("b"), results("b", then=picture))
    send(ASKED, *turns, tools=(ADD,), tool_choice=NamedTool(tool="add"))


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ((ASKED, ModelMessage.of("assistant", "Hm.")), "its last message is not a user message"),
        ((ASKED, calls("a")), "the call 'a' has no result"),
        ((ASKED, calls("a"), ASKED), "the call 'a' has no result in message 3, right after it"),
        (
            (ASKED, calls("a", "b"), results("a")),
            "the call 'b' has no result in message 3, right after it",
        ),
        (
            (ASKED, calls("a"), results("a", "a")),
            "the call 'a' has several results in message 3, right after it",
        ),
        (
            (results("a"),),
            "the result for 'a' in message 1 has no call right before it",
        ),
        (
            (ASKED, calls("a"), results("a"), results("a")),
            "the result for 'a' in message 4 has no call right before it",
        ),
        (
            (
                ASKED,
                calls("a"),
                ModelMessage("user", (TextPart("News."), ToolResultPart("a", "1"))),
            ),
            "the results in message 3 must come before everything else",
        ),
        (
            (ASKED, calls("a"), results("a"), calls("a"), results("a")),
            "message 4 uses the id 'a' of another call",
        ),
        (
            (ASKED, calls("a", "a"), results("a")),
            "message 2 uses the id 'a' of another call",
        ),
        (
            (ModelMessage("user", (ToolCallPart("a", "add", "{}"),)),),
            "message 1, of the user, has a ToolCallPart",
        ),
        (
            (ModelMessage("user", (ThinkingPart("p", "m", {}),)),),
            "message 1, of the user, has a ThinkingPart",
        ),
        (
            (ModelMessage("user", (StoredPart("a"),)),),
            "message 1 names a stored file instead of its content",
        ),
        (
            (ASKED, ModelMessage("assistant", (ImagePart("image/png", b""),)), ASKED),
            "message 2, of the assistant, has a ImagePart",
        ),
        ((ASKED, ModelMessage("assistant", (THOUGHT,)), ASKED), POISONED),
        ((ASKED, ModelMessage("assistant", (TextPart("a"), THOUGHT)), ASKED), POISONED),
        ((ASKED, ModelMessage.of("assistant", " "), ASKED), POISONED),
        ((ASKED, ModelMessage("assistant", (OpaquePart("p", {}),)), ASKED), POISONED),
        ((ASKED, ModelMessage("assistant", ()), ASKED), POISONED),
    ],
)
def test_a_broken_history_is_refused_with_its_first_fault(
    messages: tuple[ModelMessage, ...], said: str
) -> None:
    assert fault(*messages, tools=(ADD,)) == said


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"tools": (ADD, ADD)}, "two tools have the name 'add'"),
        (
            {"tools": (OfferedTool(name="a.b", description="", input_schema={"type": "object"}),)},
            "the tool name 'a.b' is invalid: it must have 1 to 64 letters, digits, hyphens and "
            "underscores",
        ),
        (
            {"tools": (OfferedTool(name="a", description="", input_schema={"anyOf": []}),)},
            "the input schema of tool 'a' must have the type object",
        ),
        (
            {"tools": (ADD,), "tool_choice": NamedTool(tool="sub")},
            "tool_choice names 'sub', which is not among its tools",
        ),
        ({"tool_choice": "required"}, "tool_choice is required, but it offers no tool"),
    ],
)
def test_broken_tools_are_refused_with_their_fault(fields: dict[str, Any], said: str) -> None:
    assert fault(ASKED, **fields) == said


@pytest.mark.parametrize(("api", "most"), [(None, 3_000), ("chat", 1_024), ("responses", 1_024)])
def test_a_long_description_is_cut_off_with_a_mark_for_the_vendor_that_refuses_it(
    api: Literal["chat", "responses"] | None, most: int
) -> None:
    kind = "anthropic" if api is None else "openai"
    base = "https://api.openai.com/v1" if api == "chat" else None
    settings = ProviderSettings("p", kind, api=api, api_base=base)
    tool = OfferedTool(
        name="t", description="x" * 3_000, input_schema={"type": "object", "properties": {}}
    )
    request = ModelRequest("m", (ModelMessage.of("user", "Go."),), tools=(tool,))
    description = prepared(request, settings).tools[0].description
    assert len(description) == most
    assert description.endswith("[cut off]") is (most == 1_024)
