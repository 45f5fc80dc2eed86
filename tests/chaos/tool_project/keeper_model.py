"""The model: it decides by its transcript alone, and so decides the same after a crash.

Two agents ask it. The keeper gets a list of turns and makes their calls. A call that failed is made
again; if it must not happen twice and its outcome is unknown, the keeper verifies, asks a person
where nobody can tell, and repeats only what did not happen. The helper answers with the number of
questions that it has had so far, which it knows by its conversation. The keeper's conversation is
compacted: its summary is what it knows.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import effects

from coterie import (
    Completion,
    ModelRequest,
    ProviderSettings,
    TextPart,
    TokenUsage,
    ToolCallPart,
    ToolResultPart,
)

ONCE = ("pay", "send", "fire")
Calls = Sequence[tuple[str, dict[str, Any]]]
"""Tools and their arguments."""


class Keeper:
    def __init__(self, settings: ProviderSettings) -> None:
        self._log = str(settings.options["log"])
        self._seconds = float(str(settings.options["seconds"]))

    async def complete(self, request: ModelRequest) -> Completion:
        self._note("asked", request)
        await asyncio.sleep(self._seconds)
        helps = (request.system or "").startswith("You help")
        calls, text = helper(request) if helps else keeper(request)
        parts = tuple(
            ToolCallPart(f"call_{request.turn}_{number}", name, json.dumps(arguments))
            for number, (name, arguments) in enumerate(calls, 1)
        )
        self._note("answered", request)
        usage = TokenUsage(input_tokens=tokens(request), output_tokens=5)
        if not parts:
            return Completion.of(text, "end", request.model, usage)
        return Completion(parts, "tool_calls", request.model, usage)

    def _note(self, event: str, request: ModelRequest) -> None:
        at = datetime.now(UTC).isoformat()
        line = {"event": event, "label": request.label, "call": request.call, "at": at}
        effects.append(self._log, json.dumps(line))


@dataclass
class Made:
    """A call of the transcript, with its result."""

    tool: str
    arguments: dict[str, Any]
    text: str
    failed: bool


@dataclass
class Known:
    """What the keeper knows of its calls, by id."""

    values: dict[str, str] = field(default_factory=dict[str, str])
    doubts: dict[str, str] = field(default_factory=dict[str, str])
    """`{id: "verify" or "ask"}`."""

    def take(self, made: Made) -> None:
        id = made.arguments["id"]
        match made.tool:
            case "was_done" if not made.failed:
                self._settle(id, made.text, "done", "missing")
            case "ask_keeper" if not made.failed:
                self._settle(id, made.text, "yes", "no")
            case "was_done" | "ask_keeper":
                pass  # once more
            case _ if not made.failed:
                self.values[id] = made.text
            case _ if made.tool in ONCE and made.text.startswith("OutcomeUnknown"):
                self.doubts[id] = "verify"
            case _:
                pass  # it did not happen, or may happen again

    def _settle(self, id: str, text: str, yes: str, no: str) -> None:
        if text == yes:
            self.values[id] = f"receipt of {id}"
        if text in (yes, no):
            self.doubts.pop(id)
        else:
            self.doubts[id] = "ask"


def keeper(request: ModelRequest) -> tuple[Calls, str]:
    """Return the next calls, or the answer."""
    summary, turns = beginning(request)
    known = Known(**json.loads(summary)) if summary else Known()
    for made in transcript(request):
        known.take(made)
    if request.purpose == "compaction":
        return [], json.dumps(asdict(known))
    for turn in json.loads(turns):
        left = [call for call in turn if call["arguments"]["id"] not in known.values]
        if left:
            return [next_call(call, known) for call in left], ""
    return [], json.dumps(known.values, sort_keys=True)


def beginning(request: ModelRequest) -> tuple[str, str]:
    """Return the summary of what was before, if there is one, and the turns to be made."""
    texts = [part.text for part in request.messages[0].content if isinstance(part, TextPart)]
    if not texts[0].startswith("[The conversation so far"):
        return "", texts[0]
    _, summary, *_ = texts[0].split("\n\n")
    return summary, texts[1]


def tokens(request: ModelRequest) -> int:
    """Return about how long a request is."""
    parts = [part for message in request.messages for part in message.content]
    texts = [getattr(part, "arguments", "") + getattr(part, "text", "") for part in parts]
    return sum(map(len, texts)) // 4


def next_call(call: dict[str, Any], known: Known) -> tuple[str, dict[str, Any]]:
    id = call["arguments"]["id"]
    match known.doubts.get(id):
        case "verify":
            return "was_done", {"tool": call["tool"], "id": id, "unsure": call["unsure"]}
        case "ask":
            return "ask_keeper", {"tool": call["tool"], "id": id}
        case _:
            return call["tool"], call["arguments"]


def helper(request: ModelRequest) -> tuple[Calls, str]:
    """Look once for each question, then answer."""
    questions = [one for one in request.messages if one.role == "user" and one.text]
    asked = json.loads(questions[-1].text)
    last = transcript(request)[-1:]
    if last and last[0].arguments["id"] == asked["id"] and not last[0].failed:
        return [], f"question {len(questions)}: {last[0].text}"
    return [("look", asked)], ""


def transcript(request: ModelRequest) -> list[Made]:
    parts = [part for message in request.messages for part in message.content]
    results = {part.call_id: part for part in parts if isinstance(part, ToolResultPart)}
    return [
        Made(
            call.name, json.loads(call.arguments), results[call.id].text, results[call.id].is_error
        )
        for call in parts
        if isinstance(call, ToolCallPart)
    ]
