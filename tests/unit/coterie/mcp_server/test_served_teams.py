"""Which teams an MCP server offers, under which names, and what it refuses."""

from pathlib import Path

import pytest

from coterie.dsl.errors import InvalidDocument
from coterie.failures import CommandError
from coterie.mcp_server.served_teams import served_teams
from coterie.settings import Settings, load

TEAM = """
description: Marks a word.
orchestration:
  entry_team: only
  context: {{{context}}}
  teams: {{only: {{tasks: [{{name: mark, type: set, values: {{said: 1}}}}]}}}}
"""


def project(folder: Path, **teams: str) -> Settings:
    for name, context in teams.items():
        place = folder / "config" / "teams" / f"{name}.yml"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(TEAM.format(context=context))
    return load({}, folder)


WORD = "word: {type: string}"


def test_all_teams_of_the_project_are_offered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = project(tmp_path, **{"mark": WORD, "a b.ü": WORD, "broken": "word: 3"})
    teams = served_teams(settings, (), None, None)
    assert {tool: team.name for tool, team in teams.items()} == {"a_b_": "a b.ü", "mark": "mark"}
    assert teams["mark"].description == "Marks a word."
    assert "broken is not offered" in capsys.readouterr().err


def test_a_named_team_with_problems_is_refused(tmp_path: Path) -> None:
    settings = project(tmp_path, broken="word: 3")
    with pytest.raises(InvalidDocument):
        served_teams(settings, ("broken",), None, None)


@pytest.mark.parametrize(
    ("names", "because"),
    [
        (("result",), "result cannot be a tool: the server has a tool 'result' of its own"),
        (("a b", "a_b"), "a b and a_b would both be the tool 'a_b'"),
    ],
)
def test_a_set_of_teams_that_cannot_be_tools_is_refused(
    tmp_path: Path, names: tuple[str, ...], because: str
) -> None:
    with pytest.raises(CommandError, match=because):
        served_teams(project(tmp_path, **dict.fromkeys(names, WORD)), names, None, None)


def test_a_team_with_the_name_of_a_tool_is_left_out_unless_somebody_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = project(tmp_path, test=WORD, mark=WORD)
    assert list(served_teams(settings, (), None, None)) == ["mark"]
    assert "test is not offered: the server has a tool 'test'" in capsys.readouterr().err


def test_a_project_without_teams_is_served_to_who_writes_the_first(tmp_path: Path) -> None:
    assert served_teams(project(tmp_path), (), None, None) == {}


def test_a_start_is_refused_before_it_reaches_a_server(tmp_path: Path) -> None:
    settings = project(tmp_path, mark=WORD)
    team = served_teams(settings, (), None, None)["mark"]
    with pytest.raises(CommandError, match="word"):
        team.start({}, settings)
    with pytest.raises(CommandError, match="'word' is not a JSON number"):
        team.start({"word": float("nan")}, settings)
    record, plan = team.start({"word": "w"}, settings)
    assert (record.mcp_tool, plan.name) == ("mark", "mark")
