"""The data of a call: its own answer with its declared schema, or what others make of it."""

import pytest

from coterie.dsl.checks.contracts.outputs import agent_of_tool, answer_schema, is_own_answer
from coterie.dsl.model.steps import PersonaDocument, PersonaStep
from coterie.dsl.model.tools.tool_section import AgentToolSection
from coterie.dsl.values import Json

TEXT: Json = {"type": "string"}
CLOSED: Json = {"type": "object", "properties": {"a": TEXT}}


def step(**config: object) -> PersonaStep:
    """A step whose `config` has these keys; without any, it has no `config`."""
    over = PersonaDocument.model_validate(config) if config else None
    return PersonaStep(name="s", agent_type="generic_single_shot", persona_key="p", config=over)


def persona(**keys: object) -> PersonaDocument:
    return PersonaDocument.model_validate(keys)


@pytest.mark.parametrize(
    ("schema", "config", "expected"),
    [
        (None, {}, None),
        (CLOSED, {}, CLOSED),
        (CLOSED, {"temperature": 0}, CLOSED),
        (CLOSED, {"output_schema": None}, None),
        (None, {"output_schema": CLOSED}, CLOSED),
        (
            CLOSED,
            {"output_schema": {"properties": {"b": TEXT}}},
            {"type": "object", "properties": {"a": TEXT, "b": TEXT}},
        ),
    ],
)
def test_the_schema_of_an_answer_is_the_persona_s_with_the_step_s_changes(
    schema: Json | None, config: Json, expected: Json | None
) -> None:
    assert answer_schema(step(**config), persona(output_schema=schema)) == expected


STEP = {"name": "a", "kind": "set", "values": {"x": 1}}
STOPS = {"tool": "t", "exit_on_success": True}
GOES_ON = {"tool": "u", "max_calls": 1}


@pytest.mark.parametrize(
    ("keys", "config", "own"),
    [
        ({}, {}, True),
        ({"tool_calls": "return"}, {}, False),
        ({"tool_calls": "return"}, {"temperature": 0}, False),
        ({"tool_calls": "return"}, {"tool_calls": "execute"}, True),
        ({}, {"tool_calls": "return"}, False),
        ({"tool_policy": [GOES_ON]}, {}, True),
        ({"tool_policy": [GOES_ON, STOPS]}, {}, False),
        ({"tool_policy": [STOPS]}, {"temperature": 0}, False),
        ({"tool_policy": [STOPS]}, {"tool_policy": [GOES_ON]}, True),
        ({"tool_policy": [GOES_ON]}, {"tool_policy": [STOPS]}, False),
    ],
)
def test_an_agent_with_tools_answers_itself_unless_a_call_ends_it(
    keys: Json, config: Json, own: bool
) -> None:
    assert is_own_answer(step(**config), persona(**keys)) is own


@pytest.mark.parametrize(
    ("keys", "agent_type"),
    [
        ({}, "generic_single_shot"),
        ({"tools": ["t"]}, "generic_tool_calling"),
        ({"subagents": ["q"]}, "generic_tool_calling"),
        ({"tools": ["t"], "exclude_tools": ["t"]}, "generic_single_shot"),
        ({"execution_plan": [STEP]}, "generic_orchestrating"),
        ({"tools": ["t"], "handoffs": ["elsewhere"]}, None),
    ],
)
def test_a_tool_made_of_an_agent_is_like_a_step_of_its_type(
    keys: Json, agent_type: str | None
) -> None:
    found = agent_of_tool("ask", AgentToolSection(agent="p"), {"p": persona(**keys)})
    assert (None if found is None else (found.name, found.agent_type, found.persona_key)) == (
        None if agent_type is None else ("ask", agent_type, "p")
    )
    assert agent_of_tool("ask", AgentToolSection(agent="q"), {"p": persona(**keys)}) is None
