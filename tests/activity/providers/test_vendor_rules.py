"""The rules that stand in for the vendors refuse: else no test behind them could fail."""

import json
from typing import Any

import httpx2
import pytest

from tests.support.servers.asking import APIS
from tests.support.servers.checking_proxy import checking_proxy
from tests.support.servers.model_server import ModelServer
from tests.support.servers.prefix_cache import Sent
from tests.support.servers.vendor_rules import RULES, fault_of

GO: dict[str, Any] = {"role": "user", "content": "Go."}
USE: dict[str, Any] = {"type": "tool_use", "id": "a", "name": "add", "input": {}}
MIND: dict[str, Any] = {"type": "thinking", "thinking": "Hm.", "signature": "S"}
RESULT: dict[str, Any] = {"type": "tool_result", "tool_use_id": "a", "content": "1"}
CALL: dict[str, Any] = {"id": "a", "type": "function", "function": {"name": "x", "arguments": "{}"}}
TOLD: dict[str, Any] = {"role": "tool", "tool_call_id": "a", "content": "1"}
ITEM: dict[str, Any] = {"type": "function_call", "call_id": "a", "name": "x", "arguments": "{}"}
OUTPUT: dict[str, Any] = {"type": "function_call_output", "call_id": "a", "output": "1"}
THOUGHT: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "encrypted_content": "e"}


def said(*blocks: dict[str, Any], role: str = "assistant") -> dict[str, Any]:
    return {"role": role, "content": [*blocks]}


def called(**changes: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [{**CALL, **changes}]}


@pytest.mark.parametrize(
    ("path", "messages", "fault"),
    [
        ("/v1/messages", [GO, said(USE), said(RESULT, role="user")], None),
        ("/v1/messages", [GO, said(USE)], "after the last message"),
        ("/v1/messages", [GO, said(USE), GO], "without `tool_result` blocks"),
        ("/v1/messages", [said(RESULT, role="user")], "unexpected `tool_use_id`"),
        (
            "/v1/messages",
            [GO, said(USE), said({"type": "text", "text": "x"}, RESULT, role="user")],
            "must come first",
        ),
        ("/v1/messages", [GO, said(USE, USE), said(RESULT, role="user")], "unique"),
        ("/v1/messages", [GO, said({**USE, "id": "a.b"})], "should match pattern"),
        ("/v1/messages", [said({"type": "text", "text": " "}, role="user")], "non-empty"),
        ("/v1/messages", [GO, GO], "roles must alternate"),
        ("/v1/messages", [said(USE), said(RESULT, role="user")], "roles must alternate"),
        ("/v1/messages", [GO, said(USE), said(RESULT, RESULT, role="user")], "without"),
        ("/v1/messages", [GO, said(USE, MIND), said(RESULT, role="user")], "before tool_use"),
        ("/v1/messages", [GO, said({**MIND, "signature": ""}, USE)], "Field required"),
        ("/v1/messages", [said(MIND, role="user")], "blocks of a model"),
        ("/v1/messages", [GO, said(USE), said({**RESULT, "content": {}}, role="user")], "a string"),
        ("/v1/chat/completions", [GO, called(), TOLD], None),
        ("/v1/chat/completions", [GO, called(), TOLD, TOLD], "must be a response"),
        ("/v1/chat/completions", [GO, called(), {**TOLD, "content": [{"type": "image"}]}], "text"),
        ("/v1/chat/completions", [GO, called(), TOLD, called(), TOLD], "unique"),
        ("/v1/chat/completions", [GO, GO], "roles must alternate"),
        ("/v1/chat/completions", [GO, called()], "did not have response messages"),
        ("/v1/chat/completions", [GO, called(), GO], "did not have response messages"),
        ("/v1/chat/completions", [GO, TOLD], "must be a response"),
        ("/v1/chat/completions", [GO, called(id="a" * 41)], "too long"),
        ("/v1/responses", [GO, THOUGHT, ITEM, OUTPUT], None),
        ("/v1/responses", [GO, ITEM], "No tool output found"),
        ("/v1/responses", [GO, ITEM, OUTPUT, OUTPUT], "No tool call found"),
        ("/v1/responses", [GO, ITEM, OUTPUT, ITEM, OUTPUT], "Duplicate item"),
        ("/v1/responses", [GO, ITEM, {**OUTPUT, "output": {"a": 1}}], "expected a string"),
        ("/v1/responses", [GO, ITEM, GO], "No tool output found"),
        ("/v1/responses", [GO, OUTPUT], "No tool call found"),
        ("/v1/responses", [GO, THOUGHT, GO], "required following item"),
        ("/v1/responses", [GO, {**THOUGHT, "encrypted_content": None}], "not persisted"),
    ],
)
def test_a_history_is_judged_as_its_vendor_does(
    path: str, messages: list[Any], fault: str | None
) -> None:
    body = {"input" if path == "/v1/responses" else "messages": messages, "store": False}
    found = fault_of(path, body)
    assert found is None if fault is None else fault in str(found)


def test_every_api_has_its_rules() -> None:
    assert RULES.keys() == APIS.keys()


@pytest.mark.parametrize("name", ["a.b", "x" * 129])
def test_names_of_tools_are_judged(name: str) -> None:
    tool = {"name": name, "input_schema": {"type": "object"}}
    assert "match pattern" in str(fault_of("/v1/messages", {"messages": [GO], "tools": [tool]}))
    tool = {"name": "a", "input_schema": {"type": "object"}}
    twice = fault_of("/v1/messages", {"messages": [GO], "tools": [tool, tool]})
    assert twice == "tools: Tool names must be unique."


async def test_the_proxy_refuses_a_conversation_whose_beginning_changed(
    model_server: ModelServer,
) -> None:
    model_server.answer("Well.")
    then = [GO, {"role": "assistant", "content": "Well."}, {"role": "user", "content": "On."}]
    changed = [GO, {"role": "assistant", "content": "Hm."}, *then[2:], *then[1:]]
    async with (
        checking_proxy(model_server.url) as proxy,
        httpx2.AsyncClient(base_url=proxy.url, trust_env=False) as client,
    ):

        async def sent(messages: list[Any], system: str = "S") -> int:
            body = {"model": "m", "max_tokens": 9, "system": system, "messages": messages}
            return (await client.post("/v1/messages", json=body)).status_code

        assert [await sent([GO]), await sent(then)] == [200, 200]
        assert proxy.repeated == [0, 1]
        assert await sent([*then, *then[1:]], system="T") == 400
        assert await sent(changed) == 400
    assert [fault.rpartition(": ")[2] for fault in proxy.faults] == [
        "system or tools changed",
        "an earlier message changed",
    ]


THINKS: dict[str, Any] = {
    "match": {"hasToolResult": False},
    "response": {
        "content": "I look.",
        "reasoning": "Hm.",
        "reasoningSignature": "S1",
        "toolCalls": [{"id": "call_1", "name": "look", "arguments": {}}],
    },
}
LOOK: dict[str, Any] = {"name": "look", "description": "Look.", "input_schema": {"type": "object"}}


def answered(*, thinking: str = "S1") -> list[Any]:
    """The first prompt, the answer to it, and a result."""
    mind = {**MIND, "signature": thinking}
    blocks = (*([mind] if thinking else []), {**USE, "id": "call_1", "name": "look"})
    return [GO, said(*blocks), said({**RESULT, "tool_use_id": "call_1"}, role="user")]


async def test_the_proxy_refuses_lost_thinking_and_changed_bytes_and_reports_what_is_cached(
    model_server: ModelServer,
) -> None:
    model_server.add(THINKS, {"match": {"toolCallId": "call_1"}, "response": {"content": "Done."}})
    async with (
        checking_proxy(model_server.url) as proxy,
        httpx2.AsyncClient(base_url=proxy.url, trust_env=False) as client,
    ):

        async def sent(messages: list[Any], tool: Any = LOOK, *, spaces: bool = False) -> Any:
            body: dict[str, Any] = {"model": "m", "tools": [tool], "messages": messages}
            body["cache_control"] = {"type": "ephemeral"}
            text = json.dumps(body, separators=None if spaces else (",", ":"))
            return await client.post("/v1/messages", content=text)

        first = (await sent([GO])).json()["usage"]
        assert (await sent(answered(thinking=""))).status_code == 400
        assert (await sent(answered(thinking="S2"))).status_code == 400
        assert (await sent(answered(), {**LOOK, "description": "See."})).status_code == 400
        assert (await sent(answered(), spaces=True)).status_code == 400
        second = (await sent(answered())).json()["usage"]
    assert first["cache_read_input_tokens"] == 0
    assert second["cache_read_input_tokens"] == first["cache_creation_input_tokens"] > 0
    assert [fault.rpartition(": ")[2] for fault in proxy.faults] == [
        '"S1"',
        '"S1"',
        "system or tools changed",
        "system or tools changed",
    ]


def test_slices_of_a_request_are_those_of_the_wire() -> None:
    sent = Sent.of('{"model": "m", "messages": [{"a":"]\\u00e9"} , {"b": [1, 2]}],"tools":[1]}')
    assert sent.messages == ('{"a":"]\\u00e9"}', '{"b": [1, 2]}')
    assert sent.frozen == ("[1]", "", "")
    other = Sent.of('{"messages":[{"a":"]é"},{"b":[1, 2]}],"tools":[1]}')
    assert not sent.begins(other)
    assert sent.begins(sent)
