"""What a vendor sent returns to it unchanged: through the message model, and through its JSON."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from coterie.activities.providers.message_json import message_from_json, message_to_json
from coterie.activities.providers.message_model import (
    ModelMessage,
    TextPart,
    ToolResultPart,
    calls_of,
)
from coterie.activities.providers.provider import Completion, ModelRequest, ProviderSettings
from coterie.activities.providers.translation.anthropic_answers import (
    AnthropicAnswer,
    AnthropicEvent,
)
from coterie.activities.providers.translation.anthropic_turns import anthropic_body
from coterie.activities.providers.translation.chat_answers import ChatAnswer, ChatChunk, ChatParts
from coterie.activities.providers.translation.chat_turns import chat_messages
from coterie.activities.providers.translation.responses_answers import ResponsesAnswer
from coterie.activities.providers.translation.responses_turns import responses_body
from coterie.dsl.values import Json, JsonValue
from tests.support.messages import json_objects

CLAUDE = ProviderSettings("claude", "anthropic")
GPT = ProviderSettings("gpt", "openai")

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=9).map(
    lambda text: f"w{text}"
)
IDS = st.text("abcdefXYZ0123456789_-", min_size=1, max_size=40)
NAMES = st.text("abcdefXYZ0123456789_-", min_size=1, max_size=64)
ASKED = ModelRequest(model="m-1", messages=(ModelMessage.of("user", "Go."),))


def obj(fields: Mapping[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(dict(fields))


def server_call() -> st.SearchStrategy[Json]:
    fixed = {"type": st.just("server_tool_use"), "id": IDS, "name": NAMES}
    return obj({**fixed, "input": json_objects()})


def output_text() -> st.SearchStrategy[Json]:
    return obj({"type": st.just("output_text"), "text": WORDS, "annotations": st.just([])})


def returned(completion: Completion) -> ModelRequest:
    """The next request, after the answer was stored; each call has a result."""
    answer = ModelMessage("assistant", completion.content)
    stored = message_from_json(json.loads(json.dumps(message_to_json(answer))))
    results = tuple(ToolResultPart(call.id, "1") for call in calls_of(stored.content))
    news = ModelMessage("user", results) if results else ModelMessage.of("user", "On.")
    return replace(ASKED, messages=(*ASKED.messages, stored, news))


def unique_ids(items: list[Json], key: str) -> bool:
    ids = [item[key] for item in items if key in item]
    return len(ids) == len(set(map(str, ids)))


BLOCKS = st.lists(
    st.one_of(
        obj({"type": st.just("text"), "text": WORDS}),
        obj(
            {
                "type": st.just("text"),
                "text": WORDS,
                "citations": st.lists(obj({"cited_text": WORDS}), min_size=1, max_size=2),
            }
        ),
        obj({"type": st.just("thinking"), "thinking": WORDS, "signature": WORDS}),
        obj({"type": st.just("thinking"), "thinking": st.just(""), "signature": WORDS}),
        obj({"type": st.just("redacted_thinking"), "data": WORDS}),
        obj({"type": st.just("tool_use"), "id": IDS, "name": NAMES, "input": json_objects()}),
        obj(
            {"type": st.just("server_tool_use"), "id": IDS, "name": NAMES, "input": json_objects()}
        ),
    ),
    min_size=1,
    max_size=5,
).filter(lambda blocks: unique_ids(blocks, "id"))


@given(BLOCKS)
def test_a_message_of_anthropic_returns_as_it_came(blocks: list[Json]) -> None:
    answer = AnthropicAnswer()
    for index, block in enumerate(blocks):
        event = {"type": "content_block_start", "index": index, "content_block": block}
        answer.take(AnthropicEvent.model_validate(event))
    sent = anthropic_body(returned(answer.completion(ASKED, "claude")), CLAUDE)["messages"]
    assert isinstance(sent, list)
    assert sent[1] == {"role": "assistant", "content": [*blocks]}


@given(BLOCKS, st.data())
def test_a_message_of_anthropic_is_the_same_in_any_pieces(
    blocks: list[Json], data: st.DataObject
) -> None:
    whole, streamed = AnthropicAnswer(), AnthropicAnswer()
    for index, block in enumerate(blocks):
        start = {"type": "content_block_start", "index": index}
        whole.take(AnthropicEvent.model_validate({**start, "content_block": block}))
        first, deltas = in_pieces(block, data)
        streamed.take(AnthropicEvent.model_validate({**start, "content_block": first}))
        for delta in deltas:
            event = {"type": "content_block_delta", "index": index, "delta": delta}
            streamed.take(AnthropicEvent.model_validate(event))
    assert streamed.completion(ASKED, "claude") == whole.completion(ASKED, "claude")


def in_pieces(block: Json, data: st.DataObject) -> tuple[Json, list[Json]]:
    """The start of a block and its deltas, as the API streams it."""
    match block:
        case {"type": "text", "text": str(text)}:
            cited = block.get("citations")
            notes: list[Json] = [
                {"type": "citations_delta", "citation": one}
                for one in (cited if isinstance(cited, list) else ())
            ]
            texts: list[Json] = [
                {"type": "text_delta", "text": piece} for piece in pieces(text, data)
            ]
            return {"type": "text", "text": ""}, [*notes, *texts]
        case {"type": "thinking", "thinking": str(text)}:
            thoughts: list[Json] = [
                {"type": "thinking_delta", "thinking": piece} for piece in pieces(text, data)
            ]
            signature: Json = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [*thoughts, signature]
        case {"type": "tool_use" | "server_tool_use", "input": dict(given)}:
            raw = json.dumps(given, ensure_ascii=False)
            return {**block, "input": {}}, [
                {"type": "input_json_delta", "partial_json": piece} for piece in pieces(raw, data)
            ]
        case _:
            return block, []


def pieces(text: str, data: st.DataObject) -> list[str]:
    """The text, cut anywhere."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=3)))
    return [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


CHAT_CALLS = st.lists(
    obj(
        {
            "id": IDS,
            "type": st.just("function"),
            "function": obj({"name": NAMES, "arguments": json_objects().map(json.dumps)}),
        }
    )
    | obj(
        {
            "id": IDS,
            "type": st.just("function"),
            "function": obj({"name": NAMES, "arguments": json_objects().map(json.dumps)}),
            "extra_content": obj({"google": obj({"thought_signature": WORDS})}),
        }
    ),
    max_size=3,
).filter(lambda calls: unique_ids(calls, "id"))


@given(st.none() | WORDS, CHAT_CALLS)
def test_a_message_of_chat_completions_returns_as_it_came(
    text: str | None, calls: list[Json]
) -> None:
    message: Json = {"role": "assistant", "content": text or (None if calls else "Well.")}
    if calls:
        message["tool_calls"] = [*calls]
    answer = ChatAnswer.model_validate({"choices": [{"message": message, "finish_reason": "stop"}]})
    assert answer.choices is not None
    completion = answer.completion(ASKED, answer.choices[0], "gemini")
    assert chat_messages(returned(completion), None, "gemini")[1] == message


@given(CHAT_CALLS, st.sampled_from(["index", "zero", "none", "id in each"]), st.data())
def test_calls_of_chat_completions_are_the_same_in_any_pieces(
    calls: list[Json], style: str, data: st.DataObject
) -> None:
    """Servers number calls each in its own way."""
    parts = ChatParts()
    for index, call in enumerate(calls):
        function = cast("Json", call["function"])
        raw = pieces(str(function["arguments"]), data)
        for number, piece in enumerate(raw):
            delta: Json = {"function": {"arguments": piece}}
            if number == 0:
                delta = {**call, "function": {**function, "arguments": piece}}
            if style == "id in each":
                delta["id"] = call["id"]
            if style in ("index", "zero", "id in each"):
                delta["index"] = 0 if style == "zero" else index
            parts.take(ChatChunk.model_validate({"choices": [{"delta": {"tool_calls": [delta]}}]}))
    parts.take(ChatChunk.model_validate({"choices": [{"delta": {}, "finish_reason": "stop"}]}))
    answer = parts.answer()
    assert answer.choices is not None
    streamed = answer.completion(ASKED, answer.choices[0], "gemini")
    whole = ChatAnswer.model_validate(
        {"choices": [{"message": {"tool_calls": calls}, "finish_reason": "stop"}]}
    )
    assert whole.choices is not None
    assert streamed.content == whole.completion(ASKED, whole.choices[0], "gemini").content
    assert streamed.stop_reason == ("tool_calls" if calls else "end")


ITEMS = st.lists(
    st.one_of(
        obj(
            {
                "type": st.just("message"),
                "id": IDS,
                "role": st.just("assistant"),
                "status": st.just("completed"),
                "phase": st.sampled_from(["commentary", "final_answer"]),
                "content": st.lists(
                    obj(
                        {"type": st.just("output_text"), "text": WORDS, "annotations": st.just([])}
                    ),
                    min_size=1,
                    max_size=2,
                ),
            }
        ),
        obj(
            {
                "type": st.just("function_call"),
                "id": IDS,
                "call_id": IDS,
                "name": NAMES,
                "arguments": json_objects().map(json.dumps),
                "status": st.just("completed"),
            }
        ),
        obj(
            {
                "type": st.just("reasoning"),
                "id": IDS,
                "summary": st.just([]),
                "encrypted_content": WORDS,
            }
        ),
        obj({"type": st.just("web_search_call"), "id": IDS, "status": st.just("completed")}),
    ),
    min_size=1,
    max_size=5,
).filter(lambda items: unique_ids(items, "call_id"))


@given(ITEMS)
def test_items_of_responses_return_as_they_came(items: list[Json]) -> None:
    answer = ResponsesAnswer.model_validate({"status": "completed", "output": items})
    sent = responses_body(returned(answer.completion(ASKED, "gpt")), GPT)["input"]
    assert isinstance(sent, list)
    assert sent[1 : 1 + len(items)] == items


@given(BLOCKS)
def test_thinking_and_foreign_items_reach_no_other_vendor(blocks: list[Json]) -> None:
    answer = AnthropicAnswer()
    for index, block in enumerate(blocks):
        event = {"type": "content_block_start", "index": index, "content_block": block}
        answer.take(AnthropicEvent.model_validate(event))
    completion = answer.completion(ASKED, "claude")
    request = returned(completion)
    others: list[JsonValue] = [
        anthropic_body(request, replace(CLAUDE, name="other claude")),
        chat_messages(request, None, "gpt"),
        responses_body(request, GPT),
    ]
    for other in others:
        text = json.dumps(other)
        assert '"type": "thinking"' not in text
        assert "server_tool_use" not in text
        assert '"cited_text"' not in text
        for part in completion.tool_calls:
            assert json.dumps(part.name) in text
        for part in completion.content:
            if isinstance(part, TextPart):
                assert json.dumps(part.text)[1:-1] in text
