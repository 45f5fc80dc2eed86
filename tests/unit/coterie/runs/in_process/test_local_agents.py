"""An agent's `process` does in one process what a durable run does step by step."""

import json
from pathlib import Path

import pytest

from activities.contracts import AgentResponse
from activities.providers.provider import ProviderSettings
from activities.providers.provider_registry import Providers
from activities.workspace.skill_base import Workspace
from coterie.runs.local_agents import local_agents
from dsl.values import Json, JsonValue
from tests.support.compiling import plan_of

TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    judge: {prompts: {user: "Is {{ input }} good for {{ context.goal }}?"}}
    reviewer:
      execution_plan:
        - {name: look, skill: Discovery.collect, input: {path: ".", include: ["*.txt"]},
            output_variable: found}
        - name: each
          type: loop
          iterate_on: "{{ found.files }}"
          loop_variable: file
          body:
            - {name: ask, agent_type: generic_single_shot, persona_key: judge,
                input: "{{ file.path }}", output_variable: said}
            - {name: keep, values: {verdicts: "{{ (verdicts | default([])) + [said.text] }}"}}
        LAST
orchestration:
  entry_team: review
  teams:
    review:
      tasks: [{name: review, agent_type: generic_orchestrating, persona_key: reviewer}]
"""


def providers_of(script: Path) -> Providers:
    settings = ProviderSettings(name="scripted", kind="scripted", answers=str(script))
    return Providers({"scripted": settings})


async def reviewed(root: Path, last: str, *answers: Json) -> AgentResponse:
    """The answer of the orchestrating agent over two files, with a scripted model."""
    project = root / "project"
    project.mkdir()
    for name in ("a.txt", "b.txt"):
        (project / name).write_text(name)
    script = root / "answers.yml"
    script.write_text(json.dumps({"answers": list(answers)}))
    providers = providers_of(script)
    factory = local_agents(plan_of(TEAM.replace("LAST", last)), providers, Workspace(project))
    agent = factory.create_agent(
        {"name": "review", "agent_type": "generic_orchestrating", "persona_key": "reviewer"}
    )
    return await agent.process({"context": {"goal": "release"}})


ANSWERS: tuple[Json, ...] = (
    {"task": "ask", "contains": "b.txt", "answer": "no"},
    {"task": "ask", "contains": "a.txt good for release", "answer": "yes"},
)


@pytest.mark.parametrize(
    ("last", "data"),
    [
        ('- {name: end, type: return, value: "{{ verdicts }}"}', ["yes", "no"]),
        ('- {name: end, type: return, value: {n: "{{ verdicts | length }}"}}', {"n": 2}),
    ],
)
async def test_an_orchestrating_agent_follows_its_plan_with_real_skills_and_models(
    tmp_path: Path, last: str, data: JsonValue
) -> None:
    response = await reviewed(tmp_path, last, *ANSWERS)
    assert (response.success, response.data) == (True, data)
    assert response.usage is not None
    assert response.usage.input_tokens > 0, "the calls of its plan are counted"


async def test_the_variables_of_the_plan_are_the_data_of_an_agent_that_returns_nothing(
    tmp_path: Path,
) -> None:
    response = await reviewed(tmp_path, "", *ANSWERS)
    assert isinstance(response.data, dict)
    assert response.data["verdicts"] == ["yes", "no"]


async def test_a_failed_step_of_the_plan_is_an_answer_with_its_error(tmp_path: Path) -> None:
    last = '- {name: stop, type: fail, error: NotGood, message: "{{ verdicts[1] }}"}'
    response = await reviewed(tmp_path, last, *ANSWERS)
    assert not response.success
    assert response.error is not None
    assert (response.error.type, response.error.message) == ("NotGood", "no")
