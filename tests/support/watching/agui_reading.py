"""What a client of AG-UI makes of a stream: messages and state, by the rules of AG-UI 1.0."""

import json
from collections.abc import AsyncIterable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import JsonValue


class AguiEvent(NamedTuple):
    """One event, and its id."""

    id: str
    data: dict[str, Any]

    @property
    def type(self) -> str:
        return self.data["type"]


def events_in(text: str) -> list[AguiEvent]:
    """The events of an answer; comments are none."""
    found: list[AguiEvent] = []
    for block in text.split("\n\n"):
        fields = dict(
            line.split(": ", 1) for line in block.split("\n") if line[:1] not in ("", ":")
        )
        if "data" in fields:
            found.append(AguiEvent(fields["id"], json.loads(fields["data"])))
    return found


async def read_all(messages: AsyncIterable[bytes]) -> list[AguiEvent]:
    """The events of a stream to its end."""
    return [event async for part in messages for event in events_in(part.decode())]


@dataclass
class AguiReader:
    """Applies events, and fails where the client of AG-UI does."""

    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    state: JsonValue = None
    open: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    closed: set[str] = field(default_factory=set[str])
    """Subagents that have finished; they do not begin again."""
    last: dict[str, Any] = field(default_factory=dict[str, Any])

    def take(self, events: Iterable[AguiEvent]) -> "AguiReader":
        for event in events:
            assert self.last.get("type") not in ("RUN_FINISHED", "RUN_ERROR"), event
            assert self.last or event.type in ("RUN_STARTED", "RUN_ERROR"), event
            self.last = event.data
            self._take(event.type, event.data)
        return self

    def message(self, id: str) -> dict[str, Any]:
        return next(message for message in self.messages if message["id"] == id)

    def texts(self) -> list[str]:
        """What models said, in order."""
        return [
            it["content"] for it in self.messages if it["role"] == "assistant" and it.get("content")
        ]

    def _begin(self, *key: str) -> None:
        assert key not in self.open, f"{key} is already in progress"
        self.open.add(key)

    def _take(self, type: str, data: dict[str, Any]) -> None:
        owner = str(data.get("subagentRunId", ""))
        match type:
            case "RUN_STARTED" | "RUN_ERROR":
                pass
            case "RUN_FINISHED":
                assert not self.open, f"still in progress: {self.open}"
            case "STEP_STARTED":
                self._begin("step", owner, data["stepName"])
            case "STEP_FINISHED":
                self.open.remove(("step", owner, data["stepName"]))
            case "STATE_SNAPSHOT":
                self.state = data["snapshot"]
            case "STATE_DELTA":
                for operation in data["delta"]:
                    self.state = patched(self.state, operation)
            case "MESSAGES_SNAPSHOT":
                self.messages = [dict(message) for message in data["messages"]]
            case _:
                self._take_message(type, data, owner)

    def _take_message(self, type: str, data: dict[str, Any], owner: str) -> None:
        match type:
            case "SUBAGENT_STARTED":
                assert owner not in self.closed
                self._begin("subagent", owner)
            case "SUBAGENT_FINISHED":
                self.open.remove(("subagent", owner))
                self.closed.add(owner)
            case "TEXT_MESSAGE_START":
                self._begin("text", data["messageId"])
                assert data["messageId"] not in [message["id"] for message in self.messages]
                self.messages.append({"id": data["messageId"], "role": "assistant", "content": ""})
            case "TEXT_MESSAGE_CONTENT":
                assert ("text", data["messageId"]) in self.open
                self.message(data["messageId"])["content"] += data["delta"]
            case "TEXT_MESSAGE_END":
                self.open.remove(("text", data["messageId"]))
            case _:
                self._take_call(type, data)

    def _take_call(self, type: str, data: dict[str, Any]) -> None:
        match type:
            case "TOOL_CALL_START":
                self._begin("tool", data["toolCallId"])
                parent = data["parentMessageId"]
                if parent not in [message["id"] for message in self.messages]:
                    self.messages.append({"id": parent, "role": "assistant"})
                function = {"name": data["toolCallName"], "arguments": ""}
                call = {"id": data["toolCallId"], "type": "function", "function": function}
                self.message(parent).setdefault("toolCalls", []).append(call)
            case "TOOL_CALL_ARGS":
                assert ("tool", data["toolCallId"]) in self.open
                calls = [it for message in self.messages for it in message.get("toolCalls", ())]
                call = next(it for it in calls if it["id"] == data["toolCallId"])
                call["function"]["arguments"] += data["delta"]
            case "TOOL_CALL_END":
                self.open.remove(("tool", data["toolCallId"]))
            case "TOOL_CALL_RESULT":
                result = {"id": data["messageId"], "role": "tool", "content": data["content"]}
                self.messages.append({**result, "toolCallId": data["toolCallId"]})
            case _:
                raise AssertionError(f"an unexpected event: {type}")


def patched(state: Any, operation: dict[str, Any]) -> Any:
    """A state with one operation of a JSON Patch (RFC 6902)."""
    path = operation["path"].split("/")[1:]
    names = [name.replace("~1", "/").replace("~0", "~") for name in path]
    if not names:
        return operation["value"]
    state = json.loads(json.dumps(state))
    inner: Any = state
    for name in names[:-1]:
        inner = inner[name]  # our patches enter no lists
    name = names[-1]
    if name == "-":
        assert operation["op"] == "add"
        inner.append(operation["value"])
    elif operation["op"] == "remove":
        del inner[name]
    else:
        assert (operation["op"] == "replace") == (name in inner)
        inner[name] = operation["value"]
    return state
