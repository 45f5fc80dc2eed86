"""What the vendors refuse with a 400 in requests with tools, written from their documentation.

The stand-in servers check nothing, so these rules stand before them. They share no code with the
product. Each function returns the first fault of a request, or None.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

Body = dict[str, Any]


def fault_of(path: str, body: Body) -> str | None:
    """The first fault of a request to one of the APIs."""
    for end, rules in RULES.items():
        if path.split("?")[0].endswith(end):
            return next(rules(body), None)
    return f"{path} is not an API with rules"


def conversation_of(path: str, body: Body) -> tuple[list[str], str]:
    """The messages of a request as they are sent, and what must not change beside them."""
    responses = path.split("?")[0].endswith("/responses")
    messages = body["input"] if responses else body["messages"]
    frozen = {key: body.get(key) for key in ("system", "instructions", "tools")}
    return [json.dumps(message) for message in messages], json.dumps(frozen)


def anthropic(body: Body) -> Iterator[str]:
    tools = body.get("tools", [])
    yield from names([tool["name"] for tool in tools], 128)
    for number, tool in enumerate(tools):
        if tool["input_schema"].get("type") != "object":
            yield f"tools.{number}.custom.input_schema.type: Field required"
    if "tool_choice" in body and not tools:
        yield "tool_choice may only be specified while providing tools"
    marks = json.dumps(body).count('"cache_control"')
    if marks > 4:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {marks}"
    yield from blocks(body["messages"])


def blocks(messages: list[Body]) -> Iterator[str]:
    asked: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for fault in (*shapes(parts), *pairs(parts, asked)):
            yield f"messages.{number}: {fault}"
        asked = [part["id"] for part in parts if part["type"] == "tool_use"]
        if seen & set(asked) or len(asked) > len(set(asked)):
            yield f"messages.{number}: `tool_use` ids must be unique"
        seen |= set(asked)
    if asked:
        yield "`tool_use` ids were found without `tool_result` blocks after the last message"


def shapes(parts: list[Body]) -> Iterator[str]:
    if not parts:
        yield "content must not be empty"
    for part in parts:
        if part["type"] == "text" and not part["text"].strip():
            yield "text content blocks must be non-empty"
        if part["type"] == "tool_use":
            if not isinstance(part["input"], dict):
                yield "tool_use.input: Input should be an object"
            if not re.fullmatch(r"[a-zA-Z0-9_-]+", part["id"]):
                yield "tool_use.id: String should match pattern"


def pairs(parts: list[Body], asked: list[str]) -> Iterator[str]:
    results = [part["tool_use_id"] for part in parts if part["type"] == "tool_result"]
    if any(part["type"] != "tool_result" for part in parts[: len(results)]):
        yield "tool_result blocks must come first"
    if set(results) - set(asked):
        yield "unexpected `tool_use_id` found in `tool_result` blocks"
    if sorted(results) != sorted(asked):
        yield "`tool_use` ids were found without `tool_result` blocks"


def chat(body: Body) -> Iterator[str]:
    tools = body.get("tools", [])
    yield from names([tool["function"]["name"] for tool in tools], 64)
    if "tool_choice" in body and not tools:
        yield "'tool_choice' is only allowed when 'tools' are specified."
    asked: list[str] = []
    for message in body["messages"]:
        if message["role"] != "tool":
            if asked:
                yield f"tool_call_ids did not have response messages: {asked}"
            asked = [call["id"] for call in message.get("tool_calls", [])]
            yield from chat_shapes(message)
        elif message["tool_call_id"] in asked:
            asked.remove(message["tool_call_id"])
        else:
            yield "messages with role 'tool' must be a response to a message with 'tool_calls'"
    if asked:
        yield f"tool_call_ids did not have response messages: {asked}"


def chat_shapes(message: Body) -> Iterator[str]:
    calls = message.get("tool_calls", [])
    if message.get("content") is None and not calls:
        yield "content: expected a string, got null"
    for call in calls:
        if not 0 < len(call["id"]) <= 40:
            yield "tool_calls.id: string too long"
        if not isinstance(json.loads(call["function"]["arguments"]), dict):
            yield "tool_calls.arguments: not an object"


def responses(body: Body) -> Iterator[str]:
    tools = body.get("tools", [])
    yield from names([tool["name"] for tool in tools], 64)
    if any("strict" not in tool for tool in tools):
        yield "Missing required parameter: 'tools[0].strict'"
    if body.get("store") is not False:
        yield "these tests demand that nothing is stored"
    asked: list[str] = []
    before = ""
    for item in body["input"]:
        kind = item.get("type", item.get("role"))
        if kind == "user" and before == "reasoning":
            yield "Item of type 'reasoning' was provided without its required following item"
        if kind == "user" and asked:
            yield f"No tool output found for function call {asked[0]}"
        if kind == "reasoning" and not item.get("encrypted_content"):
            yield f"Item with id '{item['id']}' not found: items are not persisted"
        if kind == "function_call":
            asked.append(item["call_id"])
        if kind == "function_call_output":
            yield from answered(item["call_id"], asked)
        before = kind
    if asked:
        yield f"No tool output found for function call {asked[0]}"


def answered(call: str, asked: list[str]) -> Iterator[str]:
    if call in asked:
        asked.remove(call)
    else:
        yield f"No tool call found for function call output with call_id {call}"


def names(given: list[str], most: int) -> Iterator[str]:
    for name in given:
        if not re.fullmatch(r"[a-zA-Z0-9_-]+", name) or len(name) > most:
            yield f"tools.0.custom.name: String should match pattern: {name}"
    if len(set(given)) < len(given):
        yield "tools: Tool names must be unique."


RULES: dict[str, Callable[[Body], Iterator[str]]] = {
    "/messages": anthropic,
    "/chat/completions": chat,
    "/responses": responses,
}
