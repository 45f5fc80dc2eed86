"""`coterie limits` shows where a used-up budget leads, and when people are notified."""

import json
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
    (shown,) = [line for line in lines if "budgets.tool_calls.warn_at" in line]
    assert "0.5" in shown
    assert not any("budgets.model_calls.next_team" in line for line in lines)


ASKED = """
llm_config:
  default_provider: anthropic
  default_model: demo
  personas:
    writer:
      prompts: {user: Write.}
      budgets: {tokens: {limit: 9, on_exceeded: {ask: {deadline: 1d, remind_every: 3h}}}}
orchestration:
  entry_team: a
  groups: {leads: [ann, ben]}
  no_progress: {ask: {deadline: 2d, TERMS}}
  egress_approval: {deadline: 2d, EGRESS}
  budgets: {tool_calls: {limit: 5, on_exceeded: {ask: {deadline: 2d, TERMS}}}}
  teams:
    a:
      tasks:
        - {name: sign, type: approval, prompt: "Go on?", deadline: 2d, TERMS}
        - {name: free, type: approval, prompt: "Go on?", deadline: 2d}
        - name: write
          agent_type: generic_single_shot
          persona_key: writer
          requires_approval: {deadline: 2d, TERMS}
""".replace(
    "TERMS",
    "approvers: [leads], quorum: 2, remind_every: 1h, on_timeout: approve, "
    "escalate: [{after: 5h, to: [kim, sue]}]",
).replace("EGRESS", "quorum: 2, approvers: [leads], escalate: [{after: 5h, to: [kim]}]")


def test_quorum_reminders_and_escalation_are_limits_of_each_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "team.yml").write_text(ASKED)
    monkeypatch.chdir(tmp_path)
    assert main(["limits", "team.yml", "--json"]) == 0
    found = {
        (one["scope"], one["name"]): (one["value"], one["line"])
        for one in json.loads(capsys.readouterr().out)
    }
    run, budget = "the whole run", "budgets.tool_calls.on_exceeded.ask"
    for scope, name, line in (
        (run, "no_progress.ask.", 12),
        (run, f"{budget}.", 14),
        ("a/sign", "", 18),
        ("a/write", "requires_approval.", 23),
    ):
        assert found[scope, f"{name}quorum"] == (2, line)
        assert found[scope, f"{name}remind_every"] == (3600.0, line)
        assert found[scope, f"{name}on_timeout"] == ("approve", line)
        assert found[scope, f"{name}escalate.0.after"] == (18000.0, line)
        assert found[scope, f"{name}escalate.0.to"] == (["kim", "sue"], line)
    assert found[run, "egress_approval.quorum"] == (2, 13)
    assert found[run, "egress_approval.deadline"] == (172800.0, 13)
    assert found[run, "egress_approval.escalate.0.after"] == (18000.0, 13)
    assert (run, "deadline") not in found
    of_persona = "budgets.tokens.on_exceeded.ask"
    assert found["persona writer", f"{of_persona}.remind_every"] == (10800.0, 8)
    assert ("a/free", "deadline") in found
    assert ("a/free", "quorum") not in found  # one person, as ever
    assert ("a/free", "on_timeout") not in found  # a rejection, as ever
    assert main(["limits", "team.yml"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    after = "no_progress.ask.escalate.0.after 5 h from when others may decide too team.yml:12"
    assert after in lines
    assert f"{budget}.escalate.0.to kim, sue who may decide too from then on team.yml:14" in lines
