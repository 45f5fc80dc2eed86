#!/usr/bin/env bash
# Arguments that do not fit a tool are refused with a sentence that says no more than that an error
# occurred, so the model cannot correct them. An error within the tool reads the same.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openai-agents==0.24.0
cat >"$folder/turns.py" <<'PYTHON'
import asyncio
from typing import Any

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

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

def call(name: str, arguments: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        type="function_call", call_id="c", name=name, arguments=arguments
    )


def results(model: Turns) -> list[str]:
    """What the second turn of a model was told about its calls."""
    return [item["output"] for item in model.asked[1] if item.get("type") == "function_call_output"]


@function_tool
def pay(cents: int) -> str:
    return "paid"


async def main() -> None:
    told: list[str] = []
    for arguments in ('{"cents": "five"}', '{"amount": 5}'):
        model = Turns([call("pay", arguments)], [text("Done")])
        await Runner.run(Agent(name="clerk", model=model, tools=[pay]), "Pay five cents")
        told += results(model)
        print(arguments, "->", told[-1])
    assert len(set(told)) == 1 and "cents" not in told[0] and "integer" not in told[0]


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/turns.py"
