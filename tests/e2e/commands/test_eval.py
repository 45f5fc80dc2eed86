"""`coterie eval`: trials are durable runs, and a repeated command runs only what is missing."""

import json

from tests.support.project import Project
from tests.unit.coterie.evals.suites import SUITE, TEAM


def run_ids(desk: Project) -> list[str]:
    lines = desk.coterie("runs").stdout.splitlines()
    return [line.split()[0] for line in lines if line.startswith("eval-sums-")]


def test_a_suite_runs_once_grades_again_and_is_compared_with_its_baseline(desk: Project) -> None:
    (desk.folder / "add.yml").write_text(TEAM)
    suite = desk.folder / "sums.yml"
    suite.write_text(SUITE.replace("repeats: 3", "repeats: 2"))
    first = desk.coterie("eval", "sums.yml", "--save-baseline", "before.json", "--json")
    assert first.returncode == 0, first.stderr
    assert first.stderr.count("ok   default / ") == 4
    assert json.loads(first.stdout)["variants"][0]["total"]["passed"] == 4
    runs = run_ids(desk)
    assert len(runs) == 4

    again = desk.coterie("eval", "sums.yml", "--baseline", "before.json", "--html", "sums.html")
    assert again.returncode == 0, again.stderr
    assert "ok   default / " not in again.stderr
    assert "large" in (desk.folder / "sums.html").read_text()

    suite.write_text(suite.read_text().replace("expected: 101", "expected: 102"))
    graded = desk.coterie("eval", "sums.yml")
    assert "FAIL default / large" in graded.stderr
    assert run_ids(desk) == runs


JUDGED = SUITE.replace("repeats: 3", "judge: { votes: 3, override: judge.yml }").replace(
    'exact: "{{ expected }}"', 'rubric: "The total is {{ expected }}."'
)
PRICED = """
llm_config:
  providers:
    scripted: { answers: votes.yml, prices: { demo: { input: 1000000, output: 1000000 } } }
"""
VOTES = """
answers:
  - { task: judge/vote, contains: vote 1, answer: { reason: It is., score: 9 } }
  - { task: judge/vote, contains: vote 2, answer: { reason: It is nearly., score: 7 } }
  - { task: judge/vote, contains: vote 3, answer: { reason: It is not., score: 0 } }
"""


def test_a_judge_votes_in_durable_runs_that_are_paid_and_found_again(desk: Project) -> None:
    (desk.folder / "add.yml").write_text(TEAM)
    (desk.folder / "judge.yml").write_text(PRICED)
    (desk.folder / "sums.yml").write_text(JUDGED)
    (desk.folder / "votes.yml").write_text("answers: []\n")
    failed = desk.coterie("eval", "sums.yml", "--save-baseline", "judged.json", "--json")
    assert failed.returncode != 0
    assert not (desk.folder / "judged.json").exists()
    assert "so no baseline was written" in failed.stderr
    lost = json.loads(failed.stdout)["unjudged"]
    assert ["has no answer for 'judge/vote#1.0'" in one["because"] for one in lost] == [True, True]

    assert desk.coterie("eval", "sums.yml").returncode == 5

    (desk.folder / "votes.yml").write_text(VOTES)
    judged = desk.coterie("eval", "sums.yml", "--json")
    assert judged.returncode == 0, judged.stderr
    report = json.loads(judged.stdout)
    assert report["variants"][0]["total"]["passed"] == 2
    assert report["judge_calls"] == 6
    assert report["judge_cost"] > 100
    runs = run_ids(desk)

    again = desk.coterie("eval", "sums.yml", "--json")
    assert json.loads(again.stdout) == report
    assert run_ids(desk) == runs

    (desk.folder / "sums.yml").write_text(JUDGED + "max_cost: 1\nconcurrency: 1\nrepeats: 2\n")
    stopped = desk.coterie("eval", "sums.yml", "--label", "dear", "--json")
    assert stopped.returncode == 1
    assert json.loads(stopped.stdout)["left_out"] == 3


def test_a_judge_by_rules_needs_no_model(desk: Project) -> None:
    (desk.folder / "add.yml").write_text(TEAM)
    rules = JUDGED.replace("{ votes: 3, override: judge.yml }", "{ heuristics: true }").replace(
        '"The total is {{ expected }}."', "'The total is \"{{ expected }}\".'"
    )
    (desk.folder / "sums.yml").write_text(rules.replace("expected: 101", "expected: 102"))
    graded = desk.coterie("eval", "sums.yml", "--json")
    report = json.loads(graded.stdout)
    assert report["judge_calls"] == 0
    assert report["unjudged"] == []
    assert [one["because"] for one in report["failures"]] == [
        "rubric 1: 0 of 10, wanted 7: missing: 102"
    ]
    assert [row["passed"] for row in report["variants"][0]["cases"]] == [1, 0]


ASKING = """
llm_config:
  default_provider: scripted
  providers: { scripted: { answers: said.yml } }
  personas: { adder: { model: demo, prompts: { user: Add. } } }
orchestration:
  entry_team: add
  teams: { add: { tasks: [{ name: sum, type: agent, persona_key: adder }] } }
"""
ASKED = """
name: sums
team: add.yml
graders: [{ of: "{{ output.sum.text }}", exact: "2" }]
cases: [{ name: small }]
"""


def test_a_trial_whose_provider_fails_is_void_and_run_again_by_the_next_command(
    desk: Project,
) -> None:
    (desk.folder / "add.yml").write_text(ASKING)
    (desk.folder / "sums.yml").write_text(ASKED)
    (desk.folder / "said.yml").write_text("answers: []\n")
    before = {*run_ids(desk)}
    for runs in (1, 2):
        void = desk.coterie("eval", "sums.yml", "--json")
        assert void.returncode == 5, void.stderr
        [lost] = json.loads(void.stdout)["unjudged"]
        assert "which is not the team's" in lost["because"]
        assert len({*run_ids(desk)} - before) == runs, "the next command runs the trial again"
    assert lost["run"].endswith("-again1")
