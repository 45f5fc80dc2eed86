"""Every value is reported with the line that it came from, however many files had a word in it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coterie.cli import main
from tests.support.documents.layered import layered, place

SYSTEM = "config/system_config.yml"
WRITER = "config/personas/writer.yml"
PLANNER = "config/personas/planner.yml"
TEAM = "config/teams/report.yml"
FIRST = "orchestration.teams.draft.tasks.first"
ROUNDS = "orchestration.teams.draft.tasks.plan.agent.execution_plan.rounds"

OF_TOOLS = {"max_turns", "tool_choice", "tool_calls", "parallel_tool_calls", "code_mode"}

Origins = dict[str, tuple[Any, str]]
Ask = Callable[..., Origins]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """`{path: (value, origin)}` as the command prints it."""
    monkeypatch.chdir(layered(tmp_path))

    def asked(*arguments: str) -> Origins:
        assert main(["explain", "report", *arguments, "--json"]) == 0
        rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
        return {
            row["path"]: (
                row["value"],
                f"{row['file']}:{row['line']}" if row["file"] else row["via"] or row["origin"],
            )
            for row in rows
        }

    return asked


def test_settings_of_tools_are_shown_of_an_agent_that_has_tools(tmp_path: Path, ask: Ask) -> None:
    shown = {path.rpartition(".")[2] for path in ask(f"{FIRST}.agent")}
    assert not shown & OF_TOOLS
    writer = tmp_path / "config" / "personas" / "writer.yml"
    writer.write_text(writer.read_text() + "tools: [look]\n")
    team = tmp_path / "config" / "teams" / "report.yml"
    team.write_text(team.read_text() + "tools: { look: { skill: Files.list } }\n")
    for file in (team, tmp_path / "config" / "personas" / "planner.yml"):
        file.write_text(file.read_text().replace("generic_single_shot", "generic_tool_calling"))
    shown = {path.rpartition(".")[2] for path in ask(f"{FIRST}.agent")}
    assert shown > OF_TOOLS


def test_an_agents_fields_come_from_persona_override_task_and_defaults(ask: Ask) -> None:
    shown = ask(f"{FIRST}.agent")
    assert {path.removeprefix(f"{FIRST}.agent."): value for path, value in shown.items()} == {
        "provider": ("scripted", place(SYSTEM, "default_provider")),
        "model": ("of-the-provider", place(SYSTEM, "of-the-provider")),
        "temperature": (0.2, place(WRITER, "temperature")),
        "max_tokens": (50, place(TEAM, "max_tokens")),
        "prompts.system": ("You write briefly.", place(TEAM, "You write briefly")),
        "prompts.user": ("Write about {{ context.topic }}.", place(WRITER, "user:")),
        "prompt_syntax": ("template", "default"),
        "output_schema.type": ("object", place(WRITER, "type: object")),
        "output_schema.properties.text.type": ("string", place(WRITER, "text:")),
        "max_reasks": (2, "default"),
        "reasoning": ("auto", "default"),
        "prompt_cache": ("auto", "default"),
        "timeout": (600.0, "default"),
        "retries": (9, place("coterie.yml", "retries: 9")),
        "stream": (False, "default"),
        "batch": (False, "default"),
    }


def test_a_persona_without_a_word_of_the_task_is_the_persona_and_its_override(ask: Ask) -> None:
    shown = ask("llm_config.personas.writer")
    assert shown["llm_config.personas.writer.max_tokens"] == (
        2000,
        place("coterie.yml", "max_tokens"),
    )
    assert shown["llm_config.personas.writer.temperature"] == (0.2, place(WRITER, "temperature"))


def test_an_agent_within_a_plan_is_explained_like_any_other(ask: Ask) -> None:
    shown = ask(f"{ROUNDS}.body.write.agent")
    at = f"{ROUNDS}.body.write.agent"
    assert shown[f"{at}.model"] == ("of-the-plan", place(PLANNER, "of-the-plan"))
    assert shown[f"{at}.max_tokens"] == (2000, place("coterie.yml", "max_tokens"))
    assert f"{at}.temperature" not in shown, "null took it away"
    assert shown[f"{at}.prompts.system"][1] == place(WRITER, "system: |")


def test_a_model_for_everyone_is_the_calls_word(ask: Ask) -> None:
    shown = ask(f"{FIRST}.agent", "--model", "openai/gpt-9")
    assert shown[f"{FIRST}.agent.model"] == ("gpt-9", "--model")
    assert shown[f"{FIRST}.agent.provider"] == ("openai", "--model")


def test_an_agent_that_asks_no_model_has_no_model(ask: Ask) -> None:
    at = "orchestration.teams.draft.tasks.plan.agent"
    assert not [path for path in ask(at) if path.startswith((f"{at}.model", f"{at}.timeout"))]


def test_a_function_brings_its_contract(ask: Ask) -> None:
    at = "orchestration.teams.draft.tasks.plan.agent.execution_plan.look"
    shown = ask(at)
    assert shown[f"{at}.skill"] == ("Discovery.collect", place(PLANNER, "Discovery.collect"))
    assert shown[f"{at}.contract.effect"] == ("read", "contract of Discovery.collect")
    assert shown[f"{at}.input.max_bytes"] == (5, place(PLANNER, "max_bytes: 5"))


def test_orchestration_says_what_is_written_and_what_is_default(ask: Ask) -> None:
    shown = ask("orchestration")
    assert shown["orchestration.max_total_teams"] == (12, place("coterie.yml", "max_total_teams"))
    assert shown["orchestration.max_recursion_depth"] == (7, place(TEAM, "max_recursion_depth: 7"))
    assert shown["orchestration.no_progress"] == ("ignore", "default")
    assert shown["orchestration.teams.draft.routing.default"] == (
        None,
        place(TEAM, "default: null"),
    )
    assert shown["orchestration.teams.draft.routing.rules[0].next_team"] == (
        "gather",
        place(TEAM, "next_team: gather"),
    )
    assert shown["orchestration.teams.draft.stop_on_failure"] == (True, "default")


def test_a_bound_that_a_team_has_from_the_run_is_reported_so(ask: Ask) -> None:
    shown = ask("orchestration.teams")
    assert shown["orchestration.teams.draft.max_recursion_depth"] == (
        2,
        place(TEAM, "max_recursion_depth: 2"),
    )
    assert shown["orchestration.teams.gather.max_recursion_depth"] == (
        7,
        place(TEAM, "max_recursion_depth: 7"),
    )


def test_a_value_stands_once_and_every_default_is_marked(ask: Ask) -> None:
    shown = ask()
    assert len(shown) > 90
    for path, (_, origin) in shown.items():
        assert ":" in origin or origin in ("default", "built_in") or "contract of" in origin, path


def test_secrets_are_names(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-very-secret-0123456789")
    shown = ask()
    assert shown["llm_config.providers.openai.api_key_env"] == (
        "SOME_KEY",
        place(SYSTEM, "SOME_KEY"),
    )
    assert "sk-very-secret" not in json.dumps(shown)
    assert shown["llm_config.providers.anthropic.api_key_env"] == ("ANTHROPIC_API_KEY", "built_in")
