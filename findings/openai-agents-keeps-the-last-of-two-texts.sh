#!/usr/bin/env bash
# The final output of a turn with two messages is the second one; the first is lost without a word. A turn
# without a message ends the run with an empty text.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openai-agents==0.24.0
cat >"$folder/turns.py" <<'PYTHON'
import asyncio
from typing import Any

from agents import Agent, Runner, set_tracing_disabled
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)


class Turns(Model):
    """A model that gives these turns, and keeps what it was asked."""

    def __init__(self, *turns: list[Any]) -> None:
        self.turns = list(turns)
        self.asked: list[Any] = []

    async def get_response(self, *rest: Any, **given: Any) -> ModelResponse:
        self.asked.append(given["input"])
        return ModelResponse(output=self.turns.pop(0), usage=Usage(), response_id=None)

    def stream_response(self, *rest: Any, **more: Any) -> Any:
        raise NotImplementedError


def text(value: str) -> ResponseOutputMessage:
    part = ResponseOutputText(type="output_text", text=value, annotations=[])
    return ResponseOutputMessage(
        id="m", type="message", role="assistant", status="completed", content=[part]
    )

async def main() -> None:
    two = await Runner.run(Agent(name="clerk", model=Turns([text("Yes."), text("But late.")])), "Paid?")
    none = await Runner.run(Agent(name="clerk", model=Turns([])), "Paid?")
    print("two messages:", repr(two.final_output))
    print("no message:", repr(none.final_output))
    assert (two.final_output, none.final_output) == ("But late.", "")


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/turns.py"
