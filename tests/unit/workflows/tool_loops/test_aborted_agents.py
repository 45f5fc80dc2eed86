"""An agent with tools that is aborted leaves its conversation to the cleanup that continues it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest

from coterie.activities.contracts import (
    AgentRequest,
    AgentResponse,
    FunctionRequest,
    FunctionResult,
)
from coterie.dsl.model.plan import Plan
from coterie.dsl.tool_loop.result_texts import LOST
from coterie.dsl.values import Json
from coterie.workflows.control import cancellation
from coterie.workflows.core.results import RunFailed
from coterie.workflows.core.scope import Call
from coterie.workflows.interpreter import TeamInterpreter, run
from tests.support.simulation.stopping import fresh
from tests.support.tool_agents import (
    QUERY,
    ModelScope,
    ModelWorld,
    answer,
    calls,
    function_tool,
    persona,
    tool_plan,
)
from tests.unit.workflows.tool_loops.test_tool_loop import found, results

FIRST: Json = {"n": 1}
ASKED: list[tuple[str, Json]] = [("clock", FIRST), ("search", {"query": "rain"})]
REST: Json = {"id": "rest", "steps": [{"kind": "set", "name": "note", "values": {"n": 1}}]}


class CancelledScope(ModelScope):
    """A scope whose run may be cancelled at its second call, and where nobody waits."""

    cancels = False
    gone = False

    def cancelled(self) -> str | None:
        return "enough" if self.gone else None

    async def call_function(self, request: FunctionRequest, call: Call) -> FunctionResult:
        if self.cancels and request.skill == "Discovery.collect":
            self.gone = True
            raise asyncio.CancelledError
        return await super().call_function(request, call)

    async def wait_until(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        *,
        boundary: bool = True,
        stands_still: bool = True,
    ) -> bool:
        assert ready(), f"waits for ever: {summary}"
        return True


def agent(name: str) -> Json:
    """A step of the agent in the conversation."""
    return {
        "kind": "agent",
        "name": name,
        "agent_type": "generic_tool_calling",
        "persona_key": "actor",
        "input": "it",
        "conversation": "talk",
    }


def left_by(way: str, cleanup: str) -> Plan:
    """A run whose agent `act` is aborted between two calls of its first turn, and cleaned up by
    `again` in the same conversation."""
    act, again = agent("act"), agent("again")
    body: Json = {"kind": "try", "name": "tried", "steps": [act]}
    if cleanup == "finally":
        body["finally"] = [again]
    teams: dict[str, Json] = {
        "work": {"id": "work", "steps": [body]},
        "rest": REST,
        "tidy": {"id": "tidy", "steps": [again]},
    }
    budget: Json = {"kind": "tool_calls", "scope": "team", "name": "work", "limit": 1}
    ends: Json = {"on_exceeded": way, **({"next_team": "rest"} if way == "route" else {})}
    return tool_plan(
        {
            "search": function_tool(input_schema=QUERY),
            "clock": function_tool("Clock.now", input_schema={"type": "object"}),
        },
        {"actor": persona("clock", "search", parallel_tool_calls=False)},
        teams=teams,
        on_cancel="tidy" if cleanup == "on_cancel" else None,
        budgets=[] if way == "cancel" else [{**budget, **ends}],
    )


@pytest.mark.parametrize(
    ("way", "cleanup"),
    [("route", "finally"), ("stop", "finally"), ("cancel", "finally"), ("cancel", "on_cancel")],
)
async def test_a_cleanup_continues_the_conversation_of_an_aborted_agent(
    way: str, cleanup: str
) -> None:
    def model(request: AgentRequest, _: int) -> AgentResponse:
        return answer("done") if request.task == "again" else calls(*ASKED)

    of, world = left_by(way, cleanup), ModelWorld(model, found)
    scope = CancelledScope(of, fresh(of, {}), world, None)
    scope.cancels = way == "cancel"
    with suppress(RunFailed, asyncio.CancelledError):
        await run(scope)
    if cleanup == "on_cancel":
        await cancellation.stop(scope, TeamInterpreter(scope))
    act, again = world.requests
    assert (act.task, again.task) == ("act", "again")
    assert again.conversation is not None
    assert again.conversation.head == world.calls[0]
    assert [(one.text, one.failed) for one in results(again)] == [
        ('{"of":"Clock.now","input":{"n":1}}', False),
        (LOST, True),
    ]
    assert scope.state.progress.tool_loops == {}
    assert scope.state.unsent_results == {}
