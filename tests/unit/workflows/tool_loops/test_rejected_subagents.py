"""A person's rejection of a subagent is an error for its parent, and publishes nothing."""

import pytest

from coterie.dsl.values import Json
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Pending
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import ModelScope, ModelWorld, answer
from tests.unit.workflows.tool_loops.test_nested_agents import ASK, of_tasks, once, plan, results
from tests.unit.workflows.tool_loops.test_tool_loop import found


class RejectingScope(ModelScope):
    """A scope where ann rejects whatever waits."""

    def decision_about(self, request: Pending) -> DecideInput:
        return DecideInput(id=request.id, decision="reject", by="ann", comment="not now")


@pytest.mark.parametrize(("at", "runs"), [("before", 0), ("after", 1)])
async def test_a_rejected_subagent_is_an_error_for_its_parent_and_publishes_nothing(
    at: str, runs: int
) -> None:
    tool: Json = {"agent": "writer", "requires_approval": at, "reads": [{"from": "helper"}]}
    model = of_tasks(act=once(("helper", ASK)), helper=lambda _, __: answer("secret"))
    of = plan(tool)
    world, state = ModelWorld(model, found), fresh(of, {})
    result = await run(RejectingScope(of, state, world, None))
    assert result.output == {"act": {"text": "done"}}
    assert sum(one.task == "helper" for one in world.requests) == runs
    (rejected,) = results(world)
    assert rejected.failed
    assert "not now" in rejected.text
    assert "secret" not in rejected.text
    assert state.published == {}
