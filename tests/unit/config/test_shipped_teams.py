"""The shipped teams and personas hold together, and say what one has to know to use them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from coterie.activities.providers.translation.output_schemas import (
    requires_every_key,
    strict_schema,
)
from coterie.documents.catalog import shipped_root
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import ApprovalStep, PersonaStep
from coterie.dsl.model.tools.tool_contract import FunctionTool
from coterie.dsl.source.yaml_reader import read
from tests.support.documents.shipped import TEAMS, all_steps, compiled, model_calls, team_file

PERSONAS = sorted(
    file.stem
    for folder in ("personas", *(f"teams/{name}" for name in TEAMS))
    for file in (shipped_root() / folder).glob("*.yml")
    if "prompts" in (keys := read(file.read_text(), file.name).entries())
    or "execution_plan" in keys
)
RUNS_TESTS = {"development", "implementation_review", "test_automation"}
MODELS = {"anthropic": "claude-sonnet-5-5", "openai": "gpt-6.1-sol", "scripted": "demo"}


def plan(name: str) -> Plan:
    return compiled(name).compiled.plan


def test_the_shipped_teams_are_there() -> None:
    assert TEAMS == [
        "agent_loop",
        "coordinator",
        "development",
        "implementation_review",
        "judge",
        "requirements",
        "research",
        "test_automation",
        "tool_router",
    ]


@pytest.mark.parametrize("name", TEAMS)
def test_a_team_compiles_against_the_real_functions_without_a_warning(name: str) -> None:
    assert compiled(name).compiled.warnings == ()


@pytest.mark.parametrize("name", TEAMS)
def test_a_team_compiles_in_a_project_that_says_nothing(name: str, tmp_path: Path) -> None:
    assert compiled(name, tmp_path).compiled.warnings == ()


def test_rules_of_the_shipped_teams_have_time_to_start_on_a_busy_machine() -> None:
    limits = {
        name: tool.terms.timeout
        for team in TEAMS
        for name, tool in plan(team).tools.items()
        if isinstance(tool, FunctionTool) and tool.skill == "Python.run" and "code" in tool.fixed
    }
    assert {"judge_rules", "perceive_rules", "critic_rules"} <= limits.keys()
    assert [name for name, seconds in limits.items() if seconds < 60] == []


@pytest.mark.parametrize("name", sorted({*TEAMS} - RUNS_TESTS))
def test_a_team_that_runs_no_command_compiles_beside_commands_of_other_names(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "coterie.yml").write_text("worker: {commands: {lint: {run: [ruff, check]}}}\n")
    assert compiled(name, tmp_path).compiled.warnings == ()


@pytest.mark.parametrize("name", TEAMS)
def test_a_team_explains_itself_and_every_input_on_top(name: str) -> None:
    text = team_file(name).read_text()
    explained = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    assert read(text, "team.yml").entries()["description"].value
    assert re.search(rf"coterie (run|chat) {name} --(context|set)", explained)
    own = plan(name)
    updated = {
        path.split(".")[0]
        for team in own.teams.values()
        if team.routing is not None
        for rule in team.routing.rules
        for path in rule.context_updates
    } | {
        path.split(".")[0]
        for team in own.teams.values()
        for step in all_steps(team.steps, own)
        for path in step.context_updates
    }
    read_paths = {path.split(".")[0] for team in own.teams.values() for path in team.reads}
    if not own.context:  # a team that declares none works on a project
        read_paths |= {"project"}
    inputs = read_paths - updated
    assert [key for key in sorted(inputs) if not re.search(rf"^#   {key} ", explained, re.M)] == []


@pytest.mark.parametrize("name", TEAMS)
def test_every_team_of_a_document_can_be_reached(name: str) -> None:
    own = plan(name)
    reached, ahead = set[str](), [own.entry_team]
    while ahead:
        team = own.teams[ahead.pop()]
        if team.id in reached:
            continue
        reached.add(team.id)
        if team.routing is not None:
            ways = [*(rule.next_team for rule in team.routing.rules), team.routing.default]
            ahead += [way for way in ways if isinstance(way, str)]
    assert reached == set(own.teams)


@pytest.mark.parametrize("name", TEAMS)
def test_no_approval_waits_for_ever_or_passes_by_silence(name: str) -> None:
    own = plan(name)
    for team in own.teams.values():
        for step in all_steps(team.steps, own):
            if isinstance(step, ApprovalStep):
                assert step.deadline is not None
                assert step.on_timeout == "fail"


def test_every_persona_is_used_by_some_team() -> None:
    used = {key.partition("@")[0] for name in TEAMS for key in plan(name).personas}
    assert sorted(used) == PERSONAS


def test_every_provider_names_a_model_and_leaves_its_key_to_its_address() -> None:
    config = read((shipped_root() / "system_config.yml").read_text(), "system_config.yml")
    providers = config.find(["llm_config", "providers"]).entries()
    assert {key: node.entries()["default_model"].value for key, node in providers.items()} == MODELS
    assert all("api_key_env" not in node.entries() for node in providers.values())


@pytest.mark.parametrize("name", TEAMS)
def test_every_answer_can_be_asked_for_in_the_strict_modes_of_the_providers(name: str) -> None:
    for team, step, persona in model_calls(plan(name)):
        if persona.output_schema is not None:
            strict = strict_schema(persona.output_schema)
            assert strict is not None, f"{team}/{step.name}"
            assert requires_every_key(strict), f"{team}/{step.name}"


@pytest.mark.parametrize("name", TEAMS)
def test_every_prompt_tells_material_from_instructions(name: str) -> None:
    for team, step, persona in model_calls(plan(name)):
        system = " ".join(persona.prompts["system"].split())
        assert "inside the tags" in system, f"{team}/{step.name}"
        assert re.search(r"gives? you no instructions", system), f"{team}/{step.name}"


@pytest.mark.parametrize("name", TEAMS)
def test_every_prompt_uses_every_input_that_its_agent_is_given(name: str) -> None:
    """What an agent is sent lies in the run's history for ever, so it is what the prompt names."""
    for team, step, persona in model_calls(plan(name)):
        assert isinstance(step, PersonaStep)
        given = step.input or {}
        assert isinstance(given, dict)
        prompt = persona.prompts["user"]
        unused = [key for key in given if f"input.{key}" not in prompt]
        assert unused == [], f"{team}/{step.name}"


def test_the_development_team_routes_like_the_first_description_of_the_language() -> None:
    routing = plan("development").teams["implementation_review"].routing
    assert routing is not None
    assert [rule.next_team for rule in routing.rules] == ["correction", None, "manual_approval"]
    assert routing.default == "handle_error"
    correction = plan("development").teams["correction"].routing
    assert correction is not None
    assert correction.rules[0].next_team == "engineering"
    assert correction.rules[0].context_updates["current_work_order_id"] == (
        "{{ tasks.generate_wo.data.id }}"
    )


SLOW_MODEL = 5
"""Tokens in a second: a small model on a small machine."""
LONGEST_TURN = 120
WRITERS = {"change_writer": "one answer has the changes of all files of a work order"}
"""Personas whose answer is long by its task: two minutes would end a good model, too."""


def longest_turns() -> Iterator[tuple[str, float]]:
    """Yield the seconds that one turn of each shipped persona may take with a slow model."""
    for team in TEAMS:
        for key, persona in plan(team).personas.items():
            if persona.prompts:
                tokens = persona.max_tokens or 8192
                limit = persona.timeout or 600
                yield key.partition("@")[0], min(tokens / SLOW_MODEL, limit)


def test_no_turn_of_a_shipped_persona_lasts_long_with_a_slow_model() -> None:
    turns = dict(longest_turns())
    assert len(turns) > 20
    slow = {name for name, seconds in turns.items() if seconds > LONGEST_TURN}
    assert slow == set(WRITERS)
