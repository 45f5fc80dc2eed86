"""The state of a run: its statuses, and where a model turn leads."""

import asyncio
from pathlib import Path
from typing import Any, get_args

import pytest

from coterie.agents import (
    AgentContext,
    AgentState,
    BaseTool,
    ToolRegistry,
    ToolSchema,
    route_after_router,
)
from coterie.agents.agent_state import AgentStatus, Route
from coterie.dsl.values import Json
from coterie.workflows.core.causes.agent_causes import ModelTurned
from tests.support.programs.python_agents import PlainAgent, around, asks
from tests.support.programs.weather_tools import forecast


def test_a_run_has_four_statuses() -> None:
    assert set(get_args(AgentStatus)) == {"running", "paused", "completed", "failed"}


@pytest.mark.parametrize(
    ("code", "last", "route"),
    [
        ("turn_called", False, "execute"),
        ("turn_answered", False, "generate"),
        ("turn_too_early", False, "generate"),
        ("turn_unusable", False, "generate"),
        ("turn_failed", False, "generate"),
        ("turn_answered", True, "max_iterations"),
        ("turn_too_early", True, "max_iterations"),
        ("turn_unusable", True, "max_iterations"),
        ("turn_failed", True, "max_iterations"),
    ],
)
def test_a_model_turn_leads_one_of_three_ways(code: Any, last: bool, route: Route) -> None:
    assert route_after_router(ModelTurned(code, 1, (), last)) == route
    assert route in get_args(Route)


async def test_the_history_of_tools_has_every_call_with_its_state(tmp_path: Path) -> None:
    """One call of each state; a cancelled run shows what was open as cancelled."""
    began = asyncio.Event()

    async def waits() -> None:
        began.set()
        await asyncio.Event().wait()

    def fails() -> None:
        raise LookupError("no such key")

    tools = (forecast, ToolSchema("asking", forecast, requires_approval=True), waits, fails)
    policy: Any = [{"tool": "forecast", "max_calls": 1}]
    agent = PlainAgent(agent_id="plain", tools=tools, tool_policy=policy, parallel_tool_calls=False)
    rome: Json = {"city": "Rome"}
    none: Json = {}
    calls = (("forecast", rome), ("forecast", rome), ("nothing", none), ("fails", none))
    script = (
        asks("plain", 1, *calls, ("asking", rome), ("waits", none), ("forecast", {"town": "Rome"})),
    )
    run = agent.begin("Go?", context=around(tmp_path, *script))
    await run.result()
    assert [call.status for call in run.state.tool_history] == [
        *("success", "refused", "refused", "failure", "running", "running", "refused")
    ]
    run.reject("ann", "no")
    await began.wait()
    await run.cancel()
    history = run.state.tool_history
    assert [(call.step.partition("/")[2], call.status, call.failed) for call in history] == [
        ("forecast@1.1", "success", False),
        ("forecast@1.2", "refused", True),
        ("nothing@1.3", "refused", True),
        ("fails@1.4", "failure", True),
        ("asking@1.5", "rejected", True),
        ("waits@1.6", "cancelled", True),
        ("forecast@1.7", "refused", True),
    ]
    assert all(call.result for call in history if call.status not in {"running", "cancelled"})


def test_the_text_of_an_answer_is_empty_where_there_is_none() -> None:
    empty = AgentState("failed", 0, 10, None, (), None)
    assert [empty._replace(data=data).text for data in (None, {"days": 3}, {"text": "a"}, "b")] == [
        "",
        "",
        "a",
        "b",
    ]


def test_the_surroundings_of_runs_hold_a_registry() -> None:
    class Noop(BaseTool):
        def run(self) -> None: ...

    assert AgentContext().tool_registry.list() == []
    registry = ToolRegistry()
    registry.register(Noop())
    assert AgentContext(registry).tool_registry.list() == ["Noop"]
