"""How an agent leaves: it hands over, and the run goes to the other team, or a person skips it."""

from collections.abc import Callable

from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.workflows.core.location import Skipped
from coterie.workflows.core.scope import Call, Interrupted
from coterie.workflows.core.state import RunState
from coterie.workflows.core.views import TeamResult
from coterie.workflows.interpreter import run
from tests.support.simulation.stopping import carried, fresh
from tests.support.tool_agents import (
    ModelScope,
    ModelWorld,
    answer,
    calls,
    function_tool,
    persona,
    tool_plan,
)

Model = Callable[[AgentRequest, int], AgentResponse]
TOOLS: dict[str, Json] = {"clock": function_tool("Clock.now", input_schema={"type": "object"})}
ACT: Json = {
    "name": "act",
    "agent_type": "generic_tool_calling",
    "persona_key": "actor",
    "input": "it",
}


def plan(*tasks: Json) -> Plan:
    """The plan of a team with these tasks, whose agent may hand over to `review`."""
    note: Json = {"name": "note", "kind": "set", "values": {"a": 1}}
    review: Json = {"id": "review", "steps": [note]}
    return tool_plan(
        TOOLS,
        {"actor": persona("clock", handoffs=["review"])},
        teams={"work": {"id": "work", "steps": list(tasks)}, "review": review},
    )


def over(request: AgentRequest, number: int) -> AgentResponse:
    return calls(("handoff_to_review", {"reason": "it is written"}))


async def stopped_at(of: Plan, model: Model, number: int) -> tuple[TeamResult, RunState] | None:
    """The run, continued as new once, at the checkpoint of that number; None if it has fewer."""
    state, world = fresh(of, {}), ModelWorld(model, lambda _: {})
    try:
        await run(ModelScope(of, state, world, number))
    except Interrupted:
        state = carried(state)
        return await run(ModelScope(of, state, world, None)), state
    return None


async def test_a_handoff_counts_wherever_the_run_continues_as_new_on_the_way_out() -> None:
    clean: Json = {"name": "clean", "kind": "set", "values": {"a": 1}}
    block: Json = {"name": "safe", "kind": "try", "steps": [ACT], "finally": [clean]}
    later: Json = {"name": "later", "kind": "set", "values": {"a": 1}}
    seen: list[tuple[dict[str, int], str]] = []
    while (ran := await stopped_at(plan(block, later), over, len(seen))) is not None:
        result, state = ran
        seen.append((dict(result.visits), state.main.latest["work"]["later"].status))
    assert len(seen) > 4
    assert set(map(str, seen)) == {str(({"work": 1, "review": 1}, "skipped"))}


async def test_a_handoff_of_an_attempt_that_failed_does_not_count() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        return over(request, number) if len(world.requests) == 1 else answer("done")

    act: Json = {
        **ACT,
        "retry": {"retries": 1, "interval": 0},
        "fail_when": {"expression": "{{ tasks.act.data.handoff is defined }}"},
    }
    of = plan(act)
    world = ModelWorld(model, lambda _: {})
    result = await run(ModelScope(of, fresh(of, {}), world, None))
    assert len(world.requests) == 2
    assert (result.visits, result.output) == ({"work": 1}, {"act": {"text": "done"}})


class SkippedOnce(ModelScope):
    """A scope in which a person skips the agent in its second turn."""

    async def run_agent(self, request: AgentRequest, call: Call) -> AgentResponse:
        if len(self.world.calls) == 2:
            self.world.calls.append("skipped")
            raise Skipped(None)
        return await super().run_agent(request, call)


async def test_a_skipped_agent_begins_anew_in_the_next_round() -> None:
    def model(request: AgentRequest, number: int) -> AgentResponse:
        return calls(("clock", {"n": number})) if number == 1 else answer("done")

    rounds: Json = {"name": "rounds", "kind": "loop", "iterate_on": [1, 2], "body": [ACT]}
    of = plan({**rounds, "loop_variable": "n"})
    world = ModelWorld(model, lambda _: {})
    await run(SkippedOnce(of, fresh(of, {}), world, None))
    assert [one.persona is not None for one in world.requests] == [True, True, False]
    assert world.requests[1].tool_turn is not None
    assert world.requests[1].tool_turn.results == ()
