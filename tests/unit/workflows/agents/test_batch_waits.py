"""How a run waits for a batch: the looks, the growing waits between them, and the trail."""

from coterie.activities.contracts import AgentRequest, AgentResponse, StartedBatch
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.workflows.core.causes.agent_causes import BatchSubmitted
from coterie.workflows.core.scope import Call
from coterie.workflows.core.state import RunState
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import StoppingScope, World, fresh
from tests.support.tool_agents import answer, persona, tool_plan

LOOKS = 7
SUBMITTED = StartedBatch(id="b-1", custom_id="one")


class SlowBatchScope(StoppingScope):
    """A provider whose batch has its answer at the seventh look; each look takes 1/16 s."""

    def __init__(self, plan: Plan, state: RunState) -> None:
        super().__init__(plan, state, World(lambda _: {}), None)
        self.looks: list[float] = []

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        self.world.calls.append(call.id)
        if request.started is None:
            return AgentResponse(in_progress=SUBMITTED)
        self.looks.append(request.started.waited)
        self.world.seconds += 0.0625
        return answer("yes") if len(self.looks) == LOOKS else AgentResponse(in_progress=SUBMITTED)


async def ended() -> SlowBatchScope:
    step: Json = {"agent_type": "generic_single_shot"}
    plan = tool_plan({}, {"actor": persona(batch=True)}, step=step)
    scope = SlowBatchScope(plan, fresh(plan, {}))
    await run(scope)
    return scope


async def test_the_waits_for_a_batch_double_up_to_ten_minutes() -> None:
    scope = await ended()
    assert [wait.seconds for wait in scope.noted_waits] == [30, 60, 120, 240, 480, 600, 600]


async def test_each_look_has_a_name_of_its_own_and_says_how_long_the_batch_has_taken() -> None:
    scope = await ended()
    turn = "0001.work.act"
    assert scope.world.calls == [turn, *(f"{turn}.b{look}" for look in range(1, LOOKS + 1))]
    assert scope.looks == [30, 90.06, 210.12, 450.19, 930.25, 1530.31, 2130.38]


async def test_the_trail_names_the_batch_of_a_turn_once() -> None:
    scope = await ended()
    noted = [one.cause for one in scope.state.trail if one.status == "batch"]
    assert noted == [BatchSubmitted("batch_submitted", "b-1")]
