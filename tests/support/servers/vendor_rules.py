"""What the vendors refuse with a 400 in requests with tools, written from their documentation.

The stand-in servers check nothing, so these rules stand before them. They share no code with the
product. Each function returns the first fault of a request, or None.
"""

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, cast

from tests.support.servers.asking import APIS

Body = dict[str, Any]


def fault_of(path: str, body: Body) -> str | None:
    """The first fault of a request to one of the APIs."""
    asked = path.partition("?")[0]
    for name, api in APIS.items():
        if asked == api.base + api.path:
            return next(RULES[name](body), None)
    return f"{path} is not an API with rules"


_BOUND = re.compile(
    r'"(?:signature|encrypted_content|reasoning_content)": ?("(?:[^"\\]|\\.)+")'
    r'|"type": ?"redacted_thinking", ?"data": ?("(?:[^"\\]|\\.)+")'
    r'|"(?:id|call_id)": ?("call_[^"]+")'
)


def bound_texts(answer: bytes) -> tuple[str, ...]:
    """What of an answer must return as it came: signatures, encrypted thinking, ids of calls."""
    found = (one for match in _BOUND.finditer(answer.decode()) for one in match.groups() if one)
    return tuple(dict.fromkeys(found))


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
        if message["role"] != ("user", "assistant")[number % 2]:
            yield f"messages.{number}: roles must alternate between user and assistant"
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for fault in (*shapes(parts), *pairs(parts, asked)):
            yield f"messages.{number}: {fault}"
        if message["role"] == "user" and any(part["type"] in OF_MODELS for part in parts):
            yield f"messages.{number}: a user message has blocks of a model"
        asked = [part["id"] for part in parts if part["type"] == "tool_use"]
        if seen & set(asked) or len(asked) > len(set(asked)):
            yield f"messages.{number}: `tool_use` ids must be unique"
        seen |= set(asked)
    if asked:
        yield "`tool_use` ids were found without `tool_result` blocks after the last message"


OF_MODELS = ("tool_use", "thinking", "redacted_thinking")


def shapes(parts: list[Body]) -> Iterator[str]:
    if not parts:
        yield "content must not be empty"
    kinds = [part["type"] for part in parts]
    if "thinking" in kinds and "tool_use" in kinds[: kinds.index("thinking")]:
        yield "thinking must come before tool_use"
    for part in parts:
        if part["type"] == "text" and not part["text"].strip():
            yield "text content blocks must be non-empty"
        if part["type"] == "thinking" and not part.get("signature"):
            yield "thinking.signature: Field required"
        if part["type"] == "tool_result" and not texts(
            part.get("content", ""), "text", "image", "document"
        ):
            yield "tool_result.content: Input should be a string or a list of blocks"
        if part["type"] == "tool_use":
            if not isinstance(part["input"], dict):
                yield "tool_use.input: Input should be an object"
            if not re.fullmatch(r"[a-zA-Z0-9_-]+", part["id"]):
                yield "tool_use.id: String should match pattern"


def texts(content: Any, *kinds: str) -> bool:
    """Whether the content of a result has the form of an API: a text, or parts of these kinds."""
    if isinstance(content, str):
        return True
    parts = cast("list[Body]", content if isinstance(content, list) else [{}])
    return all(part.get("type") in kinds for part in parts)


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
    seen: set[str] = set()
    roles = [message["role"] for message in body["messages"]]
    if any(one == then != "tool" for one, then in pairwise(roles)) or "system" in roles[1:]:
        yield "messages: roles must alternate between user and assistant, after the system prompt"
    for message in body["messages"]:
        if message["role"] == "tool" and not texts(message["content"], "text"):
            yield "tool content: expected a string or an array of text parts"
        if message["role"] != "tool":
            if asked:
                yield f"tool_call_ids did not have response messages: {asked}"
            asked = [call["id"] for call in message.get("tool_calls", [])]
            if seen & set(asked) or len(asked) > len(set(asked)):
                yield "tool_calls: ids must be unique"
            seen |= set(asked)
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
    yield from items(body["input"])


def items(given: list[Body]) -> Iterator[str]:
    asked: list[str] = []
    seen: set[str] = set()
    before = ""
    for item in given:
        kind = item.get("type", item.get("role"))
        if kind == "user" and before == "reasoning":
            yield "Item of type 'reasoning' was provided without its required following item"
        if kind == "user" and asked:
            yield f"No tool output found for function call {asked[0]}"
        if kind == "reasoning" and not item.get("encrypted_content"):
            yield f"Item with id '{item['id']}' not found: items are not persisted"
        if kind == "function_call":
            if item["call_id"] in seen:
                yield f"Duplicate item found with call_id {item['call_id']}"
            seen.add(item["call_id"])
            asked.append(item["call_id"])
        if kind == "function_call_output":
            yield from answered(item, asked)
        before = kind
    if asked:
        yield f"No tool output found for function call {asked[0]}"


def answered(item: Body, asked: list[str]) -> Iterator[str]:
    call = item["call_id"]
    if call in asked:
        asked.remove(call)
    else:
        yield f"No tool call found for function call output with call_id {call}"
    if not texts(item["output"], "input_text", "input_image", "input_file"):
        yield "output: expected a string or an array of input parts"


def names(given: list[str], most: int) -> Iterator[str]:
    for name in given:
        if not re.fullmatch(r"[a-zA-Z0-9_-]+", name) or len(name) > most:
            yield f"tools.0.custom.name: String should match pattern: {name}"
    if len(set(given)) < len(given):
        yield "tools: Tool names must be unique."


RULES: dict[str, Callable[[Body], Iterator[str]]] = {
    "anthropic": anthropic,
    "openai": chat,
    "responses": responses,
}
