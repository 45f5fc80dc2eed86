#!/usr/bin/env bash
# A turn that holds the final answer and a tool call ends the run with that answer, and the tool runs
# as well, whichever stands first. Of two final answers in a turn, the first is taken without a word.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic-ai-slim==2.68.0
cat >"$folder/turn.py" <<'PYTHON'
import asyncio

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models.function import FunctionModel


class Total(BaseModel):
    cents: int


paid: list[int] = []


def pay(cents: int) -> str:
    paid.append(cents)
    return "paid"


def answer(cents: int) -> ToolCallPart:
    return ToolCallPart("final_result", {"cents": cents})


async def output(*parts: ToolCallPart) -> int:
    """The output of an agent whose model gives one turn of these calls."""
    model = FunctionModel(lambda messages, info: ModelResponse(parts=list(parts)))
    return (await Agent(model, tools=[pay], output_type=Total).run("How much?")).output.cents


async def main() -> None:
    print("answer, then a payment:", await output(answer(5), ToolCallPart("pay", {"cents": 1})))
    print("a payment, then the answer:", await output(ToolCallPart("pay", {"cents": 2}), answer(5)))
    print("paid:", paid)
    two = await output(answer(5), answer(7))
    print("two answers, 5 and 7:", two)
    assert (paid, two) == ([1, 2], 5)


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/turn.py"
