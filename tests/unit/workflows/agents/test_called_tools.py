"""One call of an agent or a team: what it leaves in the state, and what a time limit keeps."""

import pytest

from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.workflows.agents.tool_kinds import ToolCall, call_tool
from coterie.workflows.core.location import Location
from coterie.workflows.core.progress.agent_progress import (
    AgentLoopProgress,
    HookedCall,
    SendingCall,
)
from coterie.workflows.core.progress.step_progress import StepProgress
from coterie.workflows.core.state_keys import MAIN, StateKey
from coterie.workflows.interpreter import TeamInterpreter
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import MODEL, ModelScope, ModelWorld, answer, tool_plan

HERE = Location.of_visit(MAIN, "work", 1).at("call")
INNER: Json = {"id": "inner", "steps": [{"kind": "set", "name": "first", "values": {"n": 1}}]}


def plan() -> Plan:
    tools: dict[str, Json] = {"helper": {"agent": "writer"}, "team": {"team": "inner"}}
    writer: Json = {**MODEL, "prompts": {"user": "?"}}
    teams: dict[str, Json] = {"work": {**INNER, "id": "work"}, "inner": INNER}
    declared: Json = {"n": {"schema": {"type": "integer"}, "default": 0}}
    return tool_plan(tools, {"writer": writer}, teams=teams, context=declared)


def scope_of(*, late: bool = False) -> ModelScope:
    def model(_: AgentRequest, __: int) -> AgentResponse:
        return answer("done")

    of = plan()
    scope = ModelScope(of, fresh(of, {}), ModelWorld(model, lambda _: None), None)
    scope.late = late
    return scope


async def called(
    scope: ModelScope, name: str, given: Json | None = None, seconds: float | None = None
) -> Outcome:
    call = ToolCall(name, scope.plan.tools[name], HERE, seconds)
    return (await call_tool(call, given or {}, scope, TeamInterpreter(scope))).outcome


@pytest.mark.parametrize("name", ["helper", "team"])
async def test_a_call_that_ended_leaves_nothing_behind(name: str) -> None:
    scope = scope_of()
    left = StateKey.at(HERE.key.called_team(), "earlier", 1, "gone")
    if name == "team":
        scope.state.progress.tool_retries[left] = 1
    assert (await called(scope, name)).success
    assert scope.state.progress == StepProgress()
    assert list(scope.state.tracks) == [MAIN]


async def test_a_team_is_not_called_with_arguments_that_its_context_cannot_have() -> None:
    scope = scope_of()
    outcome = await called(scope, "team", {"n": "many"})
    assert outcome.error is not None
    assert outcome.error.type == "InvalidContext"
    assert list(scope.state.tracks) == [MAIN]


HOOKED, SENDING = HookedCall({"n": 1}), SendingCall("digest")


@pytest.mark.parametrize(
    "kept", [{"hooked_calls"}, {"sending_calls"}, {"approved_inputs"}, set[str]()]
)
@pytest.mark.parametrize("name", ["helper", "team"])
async def test_a_call_out_of_time_drops_its_work_and_keeps_what_others_decided(
    name: str, kept: set[str]
) -> None:
    scope = scope_of(late=True)
    progress = scope.state.progress
    inner = HERE.at("inner").key
    progress.tool_loops[inner] = AgentLoopProgress(execution=1)
    if "hooked_calls" in kept:
        progress.hooked_calls[HERE.key] = HOOKED
    if "sending_calls" in kept:
        progress.sending_calls[HERE.key] = SENDING
    if "approved_inputs" in kept:
        progress.approved_inputs[HERE.key] = {"n": 2}
    outcome = await called(scope, name, seconds=5)
    assert outcome.error is not None
    assert (outcome.error.type, scope.world.calls) == ("Timeout", [])
    assert progress.tool_loops == {}
    assert progress.hooked_calls == ({HERE.key: HOOKED} if "hooked_calls" in kept else {})
    assert progress.approved_inputs == ({HERE.key: {"n": 2}} if "approved_inputs" in kept else {})
    assert progress.sending_calls == ({HERE.key: SENDING} if "sending_calls" in kept else {})
