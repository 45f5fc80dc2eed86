"""The rules that stand in for the vendors refuse: else no test behind them could fail."""

from typing import Any

import httpx2
import pytest

from tests.support.servers.checking_proxy import checking_proxy
from tests.support.servers.model_server import ModelServer
from tests.support.servers.vendor_rules import fault_of

GO: dict[str, Any] = {"role": "user", "content": "Go."}
USE: dict[str, Any] = {"type": "tool_use", "id": "a", "name": "add", "input": {}}
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
        ("/v1/chat/completions", [GO, called(), TOLD], None),
        ("/v1/chat/completions", [GO, called()], "did not have response messages"),
        ("/v1/chat/completions", [GO, called(), GO], "did not have response messages"),
        ("/v1/chat/completions", [GO, TOLD], "must be a response"),
        ("/v1/chat/completions", [GO, called(id="a" * 41)], "too long"),
        ("/v1/responses", [GO, THOUGHT, ITEM, OUTPUT], None),
        ("/v1/responses", [GO, ITEM], "No tool output found"),
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
        checking_proxy(model_server.anthropic_url) as proxy,
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
