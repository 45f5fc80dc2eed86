"""A persona may be followed by one task and asked by another: then its keys have an effect."""

import pytest

from coterie.dsl.checks.tools.tool_use_checks import TOOL_KEYS
from coterie.dsl.model.steps import PersonaStep
from tests.support.compiling import compiled
from tests.unit.dsl.documents.test_advice import ASKED_AS_WELL, PLANNED, UNREAD, without_effect

_FOR_TOOLS = ("tools", "subagents", "exclude_tools", "handoffs", "agent_skills", *TOOL_KEYS)
_NEED_MORE = ("exclude_tools", "code_mode")  # a tool to exclude, a tool made of `Python.run`


@pytest.mark.parametrize("key", [key for key in UNREAD if key not in _NEED_MORE])
def test_a_key_of_a_persona_that_is_asked_as_well_is_no_problem(key: str) -> None:
    keys = {"prompts": "{user: Go.}", key: UNREAD[key][0]}
    asked = ASKED_AS_WELL
    if key in _FOR_TOOLS:
        keys = {"tools": "[find]"} | keys
        asked = ASKED_AS_WELL.replace("generic_single_shot", "generic_tool_calling")
    written = "\n      ".join(f"{name}: {value}" for name, value in keys.items())
    assert UNREAD[key][1] not in {code for code, _ in without_effect(written, asked)}


def test_hooks_of_a_persona_are_for_the_tasks_that_ask_it_and_not_for_its_plan() -> None:
    written = "prompts: {user: Go.}\n      hooks: [{on: before_turn, decide: fail}]"
    made = compiled(PLANNED.replace("KEY", written).replace("ASKED", ASKED_AS_WELL))
    followed, asked = made.plan.teams["a"].steps
    assert isinstance(followed, PersonaStep)
    assert isinstance(asked, PersonaStep)
    personas = made.plan.personas
    assert personas[followed.persona_key].hooks == ()
    assert len(personas[asked.persona_key].hooks) == 1
