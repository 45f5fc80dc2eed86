"""One rule gives the agent type of a persona whose task names none."""

import pytest

from coterie.dsl.model.plan import Persona
from coterie.dsl.model.step_kinds.agent_types import (
    ORCHESTRATING,
    SINGLE_SHOT,
    TOOL_CALLING,
    default_agent_type,
    offered_tools,
)
from coterie.dsl.model.steps import SetStep
from coterie.dsl.model.traversal.callable_tools import agent_type_of

PLAN = (SetStep(kind="set", name="a", values={}),)


@pytest.mark.parametrize(
    ("has_plan", "offers_tools", "expected"),
    [
        (True, True, ORCHESTRATING),
        (True, False, ORCHESTRATING),
        (False, True, TOOL_CALLING),
        (False, False, SINGLE_SHOT),
    ],
)
def test_a_plan_decides_before_tools(has_plan: bool, offers_tools: bool, expected: str) -> None:
    assert default_agent_type(has_plan=has_plan, offers_tools=offers_tools) == expected


@pytest.mark.parametrize(
    ("persona", "expected"),
    [
        (Persona(provider="p", model="m"), SINGLE_SHOT),
        (Persona(provider="p", model="m", tools=("t",)), TOOL_CALLING),
        (Persona(provider="p", model="m", handoffs=("team",)), TOOL_CALLING),
        (Persona(provider="p", model="m", tools=("t",), execution_plan=PLAN), ORCHESTRATING),
    ],
)
def test_the_agent_of_a_tool_has_the_default_type(persona: Persona, expected: str) -> None:
    assert agent_type_of(persona) == expected


def test_excluded_tools_and_subagents_are_not_offered() -> None:
    assert offered_tools(["a", "b"], ["c", "d"], ["b", "c"]) == ["a", "d"]
