"""Arguments that a person changed in a tool step are checked again before the call."""

import pytest

from coterie.dsl.model.tools.tool_contract import AgentTool
from coterie.dsl.tool_loop.call_checks import edit_problem
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.results import RunFailed
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import MODEL, QUERY, ModelScope, ModelWorld, answer, tool_plan

HELPER: Json = {"agent": "writer", "input_schema": QUERY, "fixed": {"lang": "en"}}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"query": "rain", "lang": "de"}, None),
        ({"query": 1}, "arguments.query"),
        ({"lang": "en"}, "query"),
        ("rain", "they are a text, not a mapping"),
    ],
)
def test_edited_arguments_must_match_the_schema_of_the_tool(
    given: JsonValue, message: str | None
) -> None:
    found = edit_problem(AgentTool.model_validate(HELPER), given)
    if message is None:
        assert found is None
        return
    assert found is not None
    assert found.error is not None
    assert found.error.type == "InvalidArguments"
    assert message in found.error.message


class Editing(ModelScope):
    """A person gives every request other arguments."""

    payload: JsonValue = None

    def decision_about(self, request: Pending) -> DecideInput:
        return DecideInput(id=request.id, decision="approve", by="ann", payload=self.payload)


async def test_a_tool_step_does_not_call_an_agent_with_edited_arguments_it_cannot_take() -> None:
    approval: Json = {"editable": True, "schema": {"type": "object"}}
    tools: dict[str, Json] = {"helper": {**HELPER, "requires_approval": approval}}
    writer: Json = {**MODEL, "prompts": {"user": "Write."}}
    ask: Json = {"kind": "tool", "name": "ask", "tool": "helper", "arguments": {"query": "rain"}}
    single: Json = {"agent_type": "generic_single_shot"}
    of = tool_plan(tools, {"actor": writer, "writer": writer}, step=single, tasks=[ask])
    world = ModelWorld(lambda _, __: answer("done"), lambda _: None)
    scope = Editing(of, fresh(of, {}), world, None)
    scope.payload = {"query": 7}
    with pytest.raises(RunFailed, match="a person changed the arguments"):
        await run(scope)
    assert [one.task for one in world.requests] == ["act"]
