"""What a run cost is reported by itself, and out of its history when nobody serves it any more."""

import json

from tests.support.project import Project

TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  providers:
    scripted: {answers: words.yml, prices: {demo: {input: 1000, output: 1000}}}
  personas: {writer: {prompts: {user: Write.}}}
orchestration:
  entry_team: a
  budgets: {money: 0.04, tokens: 1000}
  teams:
    a:
      tasks: [{name: write, agent_type: generic_single_shot, persona_key: writer}]
      routing: {rules: [{condition: all_success, next_team: a}], default: null}
"""
WORDS = """
answers:
  - {task: write, answer: a word, usage: {input_tokens: 20, output_tokens: 5}}
"""


def test_a_used_budget_has_its_exit_code_and_its_cost_is_reported(desk: Project) -> None:
    (desk.folder / "spend.yml").write_text(TEAM)
    (desk.folder / "words.yml").write_text(WORDS)
    done = desk.coterie("run", "spend.yml", "--id", "spent", "--verbose")
    assert done.returncode == 21, done.stderr
    assert "a#2: 125% of the money budget of the run is used, 0.05 of 0.04 USD" in done.stderr
    assert "ended with budget_money" in done.stdout
    assert "50 tokens (40 in, 10 out), 0.05 USD" in done.stdout
    assert desk.coterie("result", "spent").returncode == 21
    output = desk.coterie("cost", "spent")
    assert output.returncode == 0, output.stderr
    assert output.stdout.startswith("spent: 0.05 USD\n")
    assert "budget   run.money: 0.05 of 0.04 USD (125%), used up; then: stop" in output.stdout
    report = json.loads(desk.coterie("cost", "spent", "--json").stdout)
    assert report["models"][0]["name"] == "scripted/demo"
    assert (report["total"]["calls"], report["total"]["cost"]) == (2, 0.05)
