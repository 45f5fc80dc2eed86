"""`coterie limits` shows where a used-up budget leads, and when people are told."""

from pathlib import Path

import pytest

from coterie.cli import main

TEAM = """
orchestration:
  entry_team: a
  budgets: {tool_calls: {limit: 5, warn_at: 0.5, on_exceeded: route, next_team: b}, model_calls: 3}
  teams:
    a: {tasks: [{name: w, type: wait, duration: 1}]}
    b: {tasks: [{name: w, type: wait, duration: 1}]}
"""


def test_the_next_team_and_the_terms_of_a_budget_are_limits_with_their_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "team.yml").write_text(TEAM)
    monkeypatch.chdir(tmp_path)
    assert main(["limits", "team.yml"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    (leads,) = [line for line in lines if "budgets.tool_calls.next_team" in line]
    assert "b" in leads
    (told,) = [line for line in lines if "budgets.tool_calls.warn_at" in line]
    assert "0.5" in told
    assert not any("budgets.model_calls.next_team" in line for line in lines)
