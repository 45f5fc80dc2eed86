"""A run that has ended goes on in another one: where it failed, or where people want it."""

import json
from pathlib import Path
from typing import cast

import pytest

from coterie.dsl.values import Json
from tests.support.cli import asks
from tests.support.project import Project, project

TEAM = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    p: {prompts: {user: hello}}
    maker:
      execution_plan:
        - {name: one, agent_type: generic_single_shot, persona_key: p}
        - {name: two, type: set, values: {said: "{{ context.word + '' }}"}}
orchestration:
  entry_team: first
  teams:
    first:
      tasks: [{name: say, agent_type: generic_single_shot, persona_key: p}]
      routing: {default: second}
    second:
      tasks:
        - {name: sign, type: approval, prompt: "Well?", deadline: 1h}
        - {name: make, agent_type: generic_orchestrating, persona_key: maker}
      routing: {default: null, context_updates: {said: "{{ tasks.make.data.said }}"}}
"""


ANSWERS = "answers: [{task: say, answer: fine}, {task: one, answer: fine}]\n"


def result_of(shop: Project, run: str) -> Json:
    done = shop.coterie("result", run, "--json")
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


@pytest.mark.timeout(240)
async def test_a_failed_run_goes_on_where_it_failed_and_any_run_from_any_visit(
    tmp_path: Path,
) -> None:
    with project(tmp_path / "shop") as shop:
        (shop.folder / "team.yml").write_text(TEAM)
        (shop.folder / "answers.yml").write_text(ANSWERS)
        providers = {"scripted": {"answers": "answers.yml", "log": "calls.log"}}
        shop.configure(llm_config={"providers": providers})
        assert shop.coterie("server").returncode == 0
        shop.begin("worker")
        assert shop.coterie("start", "team.yml", "--id", "bad", "--set", "word=1").returncode == 0
        await asks(shop, "bad", "second/sign#1")
        early = shop.coterie("fork", "bad", "--at", "second#1", "--id", "early")
        assert early.returncode == 0, early.stderr
        assert "early continues from bad at second#1" in early.stderr
        assert shop.coterie("approve", "bad", "--by", "ann").returncode == 0
        failed = result_of(shop, "bad")
        assert (failed["end"], failed["model_calls"]) == ("failed", 2), failed["because"]
        assert "TemplateFailed" in str(failed["because"]), failed["because"]

        wrong = shop.coterie("retry", "bad", "make")
        assert "`retry` starts another run where it failed" in wrong.stderr
        again = shop.coterie("retry", "bad", "--set", "word=hello", "--by", "ben", "--id", "good")
        assert "good continues from bad at second#1/make/two" in again.stderr, again.stderr
        good = result_of(shop, "good")
        assert (good["end"], good["context"]) == ("completed", {"word": "hello", "said": "hello"})
        assert good["visits"] == {"first": 1, "second": 1}
        assert good["model_calls"] == 2, "what was done before counts, and is not done again"
        assert (shop.folder / "calls.log").read_text().count('"asked"') == 2
        assert isinstance(good["decisions"], list)
        assert {"by": "ann", "run": "bad"}.items() <= cast("Json", good["decisions"][0]).items()
        output = shop.coterie("status", "good", "--trail").stdout
        assert "forked from bad at second#1/make/two by ben" in output
        assert "amended word by ben" in output
        rows = [line.split()[:3] for line in shop.coterie("runs").stdout.splitlines()]
        assert ["good", "team", "completed"] in rows

        nowhere = shop.coterie("fork", "good", "--at", "third#1")
        assert nowhere.returncode == 1
        assert "has no visit 'third#1'; it has: " in nowhere.stderr
        assert "has not failed" in shop.coterie("retry", "good").stderr
        assert "second/sign#1" in shop.coterie("pending", "early").stdout, "it asks for itself"
        assert shop.coterie("cancel", "early").returncode == 0
        plain = '{"fork": {"run": "early", "at": "first#1", "updates": {"word": "plain"}}}'
        shop.temporal(
            "workflow",
            "start",
            "--type",
            "TeamWorkflow",
            "--task-queue",
            "coterie",
            "-w",
            "plain",
            "--input",
            plain,
        )
        await asks(shop, "plain", "second/sign#1")
        assert shop.coterie("approve", "plain").returncode == 0
        assert result_of(shop, "plain")["context"] == {"word": "plain", "said": "plain"}
