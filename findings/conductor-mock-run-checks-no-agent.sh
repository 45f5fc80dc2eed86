#!/usr/bin/env bash
# `mock_run` calls a tool without the approval that it needs, and ends as complete with a call of a tool that the agent lacks.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'conductor-python==2.0.0'
cat >"$folder/mock.py" <<'PYTHON'
from importlib.metadata import version

from conductor.ai.agents import Agent, tool
from conductor.ai.agents.testing import MockEvent, mock_run

paid = []


@tool(approval_required=True)
def pay(amount: int) -> str:
    """Pay an invoice."""
    paid.append(amount)
    return "paid"


clerk = Agent(name="clerk", model="openai/gpt-4o", tools=[pay])
result = mock_run(
    clerk,
    "Pay the invoice.",
    [
        MockEvent.tool_call("pay", {"amount": 5}),
        MockEvent.tool_call("refund", {}),
        MockEvent.done("done"),
    ],
)
called = [call["name"] for call in result.tool_calls]
print("conductor-python", version("conductor-python"), result.status, called, "paid:", paid)
assert (result.status, called, paid) == ("COMPLETED", ["pay", "refund"], [5])
PYTHON
"$folder/venv/bin/python" "$folder/mock.py"
