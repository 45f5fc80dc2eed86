"""The state of a run: its statuses, and where a model turn leads."""

from typing import Any, get_args

import pytest

from coterie.agents import AgentContext, AgentState, BaseTool, ToolRegistry, route_after_router
from coterie.agents.agent_state import AgentStatus, Route
from workflows.core.causes.agent_causes import ModelTurned


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
