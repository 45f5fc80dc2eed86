"""A conversation advances per turn: also by an answer that a hook stops."""

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.dsl.values import Json
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import MODEL, ModelScope, ModelWorld, answer, tool_plan
from tests.unit.workflows.tool_loops.test_tool_loop import found


def stopping(on: str, decide: str) -> Json:
    when: Json = {"expression": "{{ answer.text == 'bad' }}"}
    return {"name": "guard", "on": on, "when": when, "decide": decide, "message": "no"}


@pytest.mark.parametrize("decide", ["fail", "reject"])
@pytest.mark.parametrize("on", ["after_model_call", "after_turn"])
@pytest.mark.parametrize("agent_type", ["generic_single_shot", "generic_tool_calling"])
async def test_a_stopped_answer_is_a_turn_of_its_conversation(
    agent_type: str, on: str, decide: str
) -> None:
    step: Json = {"agent_type": agent_type, "conversation": "talk", "on_failure": "continue"}
    again: Json = {**step, "name": "again", "persona_key": "actor", "input": "more"}
    of = tool_plan(
        {},
        {
            "actor": {
                **MODEL,
                "prompts": {"user": "Do {{ input }}."},
                "hooks": [stopping(on, decide)],
            }
        },
        step=step,
        tasks=[again],
    )

    def model(request: AgentRequest, _: int) -> AgentResponse:
        return answer("bad" if request.task == "act" else "good")

    world, state = ModelWorld(model, found), fresh(of, {})
    result = await run(ModelScope(of, state, world, None))
    first, second = world.requests
    assert first.conversation is not None
    assert second.conversation is not None
    assert (first.conversation.head, second.conversation.head) == (None, world.calls[0])
    assert state.conversations == {"talk": world.calls[1]}
    assert result.output is not None
