"""A program learns which error is the team's and which is the run's, and sees edited tools."""

from pathlib import Path

import pytest

from coterie import InvalidTeam, Team, TeamRunError

TEAM = """
llm_config:
  personas:
    writer: { provider: anthropic, model: claude-opus-5-5, prompts: { user: Go. } }
orchestration:
  entry_team: main
  context: { topic: { type: string } }
  teams: { main: { tasks: [{ name: write, persona_key: writer }] } }
"""
CALLS = """
tools: { count: { skill: "my_tools:count" } }
orchestration:
  entry_team: main
  teams: { main: { tasks: [{ name: count, type: tool, tool: count, arguments: { words: 1 } }] } }
"""
TOOL = "from coterie import tool\n\n\n@tool\ndef count(words: int) -> int:\n    return words\n"


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    file = tmp_path / "team.yml"
    file.write_text(TEAM)
    return file


async def test_a_context_that_lacks_something_is_an_error_of_the_call(team: Path) -> None:
    with pytest.raises(InvalidTeam, match="topic is a number, not a text; pass it to `run`"):
        await Team.load(team).run({"topic": 3})


async def test_a_missing_key_is_an_error_of_the_run_and_not_of_the_team(team: Path) -> None:
    with pytest.raises(TeamRunError, match="ANTHROPIC_API_KEY") as raised:
        await Team.load(team).run({"topic": "boats"})
    assert raised.value.id is None


async def test_a_server_that_does_not_answer_is_an_error_of_the_run(
    team: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    with pytest.raises(TeamRunError, match=r"127\.0\.0\.1:1"):
        await Team.load(team, address="127.0.0.1:1").run({"topic": "boats"})


def test_a_team_is_loaded_with_the_tools_as_they_are_now(tmp_path: Path) -> None:
    (tmp_path / "coterie.yml").write_text("worker: { tool_packages: [my_tools] }\n")
    (tmp_path / "team.yml").write_text(CALLS)
    (tmp_path / "my_tools.py").write_text(TOOL)
    Team.load(tmp_path / "team.yml")
    # Of another length: Python reads its bytecode again for a source of the same second and length.
    (tmp_path / "my_tools.py").write_text(TOOL.replace("words", "sentences"))
    with pytest.raises(InvalidTeam, match="my_tools:count takes no input 'words'"):
        Team.load(tmp_path / "team.yml")
