"""Agents that really call their providers, and answers of each API as its vendor words them."""

import json

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.activities.providers.provider_registry import Providers
from coterie.activities.storage.blobs import MemoryBlobs
from coterie.dsl.values import Json
from tests.support.servers.raw_server import events, http


class Wired:
    """Activities of agents that really call their providers; their tools find something."""

    def __init__(self, providers: Providers) -> None:
        self.activities = AgentActivities(providers, blobs=MemoryBlobs())

    async def run_agent(self, request: AgentRequest) -> AgentResponse:
        return await self.activities.run_agent(request)

    async def call_function(self, request: FunctionRequest) -> FunctionResult:
        return FunctionResult(data="found")


def claude(*blocks: Json, stop: str = "end_turn") -> bytes:
    begun: Json = {"model": "m-1", "usage": {"input_tokens": 9}}
    start: Json = {"type": "message_start", "message": begun}
    end: Json = {"type": "message_delta", "delta": {"stop_reason": stop}}
    shown: list[Json] = [
        {"type": "content_block_start", "index": index, "content_block": block}
        for index, block in enumerate(blocks)
    ]
    return http(events(start, *shown, end), kind="text/event-stream")


def chat(message: Json) -> bytes:
    return http(json.dumps({"choices": [{"finish_reason": "stop", "message": message}]}))


def response(*items: Json) -> bytes:
    done: Json = {"status": "completed", "output": list(items)}
    return http(events({"type": "response.completed", "response": done}), kind="text/event-stream")


THOUGHT: Json = {"type": "thinking", "thinking": "Hm.", "signature": "S"}
REASONING: Json = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}
FUNCTION_CALL: Json = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "look",
    "arguments": "{}",
}
CALL: dict[str, bytes] = {
    "anthropic": claude(
        THOUGHT, {"type": "tool_use", "id": "call_1", "name": "look", "input": {}}, stop="tool_use"
    ),
    "openai": chat(
        {
            "reasoning_content": "Hm.",
            "tool_calls": [{"id": "call_1", "function": {"name": "look", "arguments": "{}"}}],
        }
    ),
    "responses": response(REASONING, FUNCTION_CALL),
}
