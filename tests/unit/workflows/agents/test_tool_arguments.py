"""The arguments of a `tool` step: which tool they go to, what is checked, and what is fixed."""

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.dsl.values import Json, JsonValue
from tests.support.simulation.egress_runs import ran
from tests.support.tool_agents import MODEL, QUERY, answer, function_tool, tool_plan

ANY: Json = {"type": "object"}
TOOLS: dict[str, Json] = {
    "helper": {"agent": "writer", "input_schema": QUERY, "fixed": {"lang": "de"}},
    "free": {"agent": "writer"},
    "look": function_tool(input_schema=QUERY, fixed={"lang": "de"}),
}
WRITER: Json = {**MODEL, "prompts": {"user": "{{ input }}"}}


def done(_: AgentRequest, __: int) -> AgentResponse:
    return answer("done")


@pytest.mark.parametrize(
    ("tool", "given", "sent", "error"),
    [
        ("helper", {"query": "rain"}, {"query": "rain", "lang": "de"}, None),
        ("helper", {"query": "rain", "lang": "en"}, {"query": "rain", "lang": "de"}, None),
        ("helper", {"query": 7}, None, "InvalidArguments"),
        ("helper", {}, None, "InvalidArguments"),
        ("helper", "rain", None, "InvalidArguments"),
        ("free", {"n": 1}, {"n": 1}, None),
        ("free", ["n"], None, "InvalidArguments"),
        ("look", {"query": 7}, {"query": 7, "lang": "de"}, None),
        ("look", 7, None, "InvalidArguments"),
        ("nobody", {}, None, "UnknownTool"),
        (["look"], {}, None, "UnknownTool"),
    ],
)
async def test_a_tool_gets_the_arguments_that_it_takes(
    tool: JsonValue, given: JsonValue, sent: JsonValue, error: str | None
) -> None:
    call: Json = {
        "kind": "tool",
        "name": "call",
        "tool": "{{ context.tool }}",
        "arguments": "{{ context.given }}",
        "on_failure": "continue",
    }
    teams: dict[str, Json] = {"work": {"id": "work", "steps": [call]}}
    plan = tool_plan(TOOLS, {"writer": WRITER}, teams=teams)
    one = await ran(plan, done, context={"tool": tool, "given": given})
    found = one.state.main.latest["work"]["call"].error
    assert (None if found is None else found.type) == error
    agents = [request.inputs.get("input") for request in one.world.requests]
    functions = [request.input for request in one.world.made]
    assert [*agents, *functions] == ([] if error else [sent])
