"""The scripts that play a model for the shipped teams: complete, and as their personas want it."""

import json

import pytest

from coterie.activities.answers import AnswerProblem, parse_answer
from coterie.activities.providers.provider import ModelRequest
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.scripted import ScriptedProvider
from coterie.activities.providers.scripts.script import ScriptedAnswer, read_script
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.tools.tool_contract import AgentTool
from tests.support.documents.shipped import TEAMS, compiled, model_calls, script_file

LONGEST = 1.0
"""Seconds that a scripted model may think: long enough to be watched, short enough to be tested."""


def script(name: str) -> tuple[ScriptedAnswer, ...]:
    return read_script(script_file(name))


def personas(name: str) -> dict[str, Persona]:
    """`{team/task: persona}` of every step that asks a model; `{tool: persona}` of subagents."""
    plan = compiled(name).compiled.plan
    tools = plan.tools.items()
    subagents = {key: plan.personas[one.agent] for key, one in tools if isinstance(one, AgentTool)}
    steps = {f"{team}/{step.name}": persona for team, step, persona in model_calls(plan)}
    return steps | subagents


def text_of(entry: ScriptedAnswer) -> str:
    return entry.answer if isinstance(entry.answer, str) else json.dumps(entry.answer)


@pytest.mark.parametrize("name", TEAMS)
def test_a_team_finds_its_script_beside_it(name: str) -> None:
    answers = compiled(name).trusted.providers["scripted"].answers
    assert answers is not None
    assert script_file(name).samefile(answers)


@pytest.mark.parametrize("name", TEAMS)
def test_every_step_that_asks_a_model_has_answers_and_no_answer_is_for_nobody(name: str) -> None:
    assert {entry.task for entry in script(name)} == set(personas(name))


@pytest.mark.parametrize("name", TEAMS)
def test_every_scripted_answer_meets_its_personas_schema(name: str) -> None:
    schemas = personas(name)
    for entry in script(name):
        if entry.tool_calls or entry.templates:  # the team's own tests fill templates
            continue
        answer = parse_answer(text_of(entry), schemas[entry.task].output_schema)
        assert not isinstance(answer, AnswerProblem), f"{entry.task} {entry.visit}: {answer}"


@pytest.mark.parametrize("name", TEAMS)
def test_a_scripted_model_thinks_long_enough_to_be_watched_and_no_longer(name: str) -> None:
    assert all(entry.seconds <= LONGEST for entry in script(name))
    assert sum(entry.seconds > 0 for entry in script(name)) >= 3


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("agent_loop", "agent/plan#1.0"),
        ("coordinator", "coordinate/perceive#1.0"),
        ("development", "solution/design#1.0"),
        ("judge", "judge/vote#1.0"),
        ("requirements", "analysis/analyse#1.0"),
        ("implementation_review", "evidence/assess#1.0"),
        ("test_automation", "test_design/design_tests#1.0"),
        ("tool_router", "guardrail/score#1.0"),
    ],
)
async def test_a_script_says_nothing_about_a_project_that_it_does_not_know(
    name: str, label: str
) -> None:
    provider = ScriptedProvider(script_file(name))
    with pytest.raises(ProviderFailure, match="has no answer for"):
        await provider.complete(ModelRequest(model="demo", messages=(), label=label))
