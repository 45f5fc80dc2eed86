"""`coterie test` and `coterie record` as a user calls them."""

import json
from pathlib import Path

import pytest

from coterie.dsl.source.yaml_reader import read
from tests.support.project import Project, project, until

TEAM = """
llm_config:
  default_provider: anthropic
  default_model: claude-sonnet-5-5
  personas: { writer: { prompts: { user: "Write about {{ context.topic }}." } } }
orchestration:
  entry_team: draft
  teams:
    draft:
      tasks:
        - { name: write, agent_type: generic_single_shot, persona_key: writer }
        - { name: sign_off, type: approval, prompt: Fine?, deadline: 3d }
      routing:
        rules:
          - condition: all_success
            next_team: null
            context_updates: { text: "{{ tasks.write.data.text }}" }
        default: null
"""
TESTS = """
context: { topic: rain }
answers: [{ task: write, contains: rain, answer: It rains. }]
cases:
  - name: signed
    decisions: [{ decision: approve, by: ada, after: 2d }]
    expect: { context: { text: It rains. } }
  - name: not signed
    expect: { end: %s }
"""


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    """A project with a team and its tests in its config."""
    made = Project(tmp_path / "shop")
    folder = made.folder / "config" / "teams"
    folder.mkdir(parents=True)
    (folder / "letter.yml").write_text(TEAM)
    (folder / "letter.test.yml").write_text(TESTS % "failed")
    return made


def test_the_projects_own_tests_are_found_and_run(shop: Project) -> None:
    done = shop.coterie("test")
    assert done.returncode == 0, done.stdout + done.stderr
    found = [line.split("  (")[0] for line in done.stdout.splitlines()]
    assert found == [
        "ok    config/teams/letter.test.yml  signed",
        "ok    config/teams/letter.test.yml  not signed",
    ]
    assert done.stderr.splitlines()[-1] == "2 cases in 1 file: all as expected"


def test_a_file_of_tests_is_no_team(shop: Project) -> None:
    done = shop.coterie("validate")
    assert done.returncode == 0, done.stdout
    assert "letter.test" not in done.stderr
    named = shop.coterie("validate", "config/teams/letter.test.yml")
    assert named.returncode == 2
    assert "config/teams/letter.test.yml is a test file, not a team [E001]" in named.stdout
    assert "fix: run it with: coterie test config/teams/letter.test.yml" in named.stdout


def test_an_unmet_expectation_is_exit_code_1_and_readable_also_as_json(shop: Project) -> None:
    (shop.folder / "config" / "teams" / "letter.test.yml").write_text(TESTS % "completed")
    done = shop.coterie("test", "--json")
    assert done.returncode == 1
    first, second = json.loads(done.stdout)
    assert (first["passed"], first["differences"]) == (True, [])
    assert second["case"] == "not signed"
    assert second["differences"] == [
        {
            "place": "end",
            "message": "expected completed, and the run failed, because task 'sign_off' of "
            "team 'draft' failed: Rejected: deadline rejected it: nobody decided in time",
            "lines": [],
        }
    ]
    assert shop.coterie("test", "-k", "letter.test.yml: signed").returncode == 0
    nothing = shop.coterie("test", "-k", "no such case")
    assert (nothing.returncode, nothing.stdout) == (2, "")


def test_a_wrong_file_is_exit_code_2_and_nothing_runs(shop: Project) -> None:
    file = shop.folder / "config" / "teams" / "letter.test.yml"
    file.write_text(TESTS.replace("expect:", "expects:") % "failed")
    done = shop.coterie("test")
    assert (done.returncode, done.stdout) == (2, "")
    assert "config/teams/letter.test.yml:7:5: unknown key 'expects' [E101]" in done.stderr
    assert "did you mean 'expect'?" in done.stderr
    assert done.stderr.splitlines()[-1] == "coterie: 2 problems"


def test_command_reports_a_file_that_is_not_a_test(shop: Project) -> None:
    found = {
        "nowhere.test.yml": "nowhere.test.yml does not exist",
        "coterie.yml": "coterie.yml is not a test file: test files end in .test.yml",
        "invoicing": "no test file in invoicing; test files end in .test.yml",
    }
    for target, message in found.items():
        done = shop.coterie("test", target)
        assert (done.returncode, done.stderr) == (2, f"coterie: {message}\n")


def test_a_recorded_run_is_a_test_that_passes_until_the_team_is_changed(tmp_path: Path) -> None:
    with project(tmp_path / "shop") as shop:
        script = shop.folder / "answers.yml"
        script.write_text("answers: [{ task: write, answer: It rains. }]")
        provider = {"answers": "answers.yml", "default_model": "demo"}
        shop.configure(
            llm_config={"default_provider": "scripted", "providers": {"scripted": provider}}
        )
        team = shop.folder / "letter.yml"
        team.write_text(TEAM)
        shop.begin("run", "letter.yml", "--id", "one", "--set", "topic=rain")
        until(lambda: shop.coterie("approve", "one", "--by", "ada").returncode == 0, "the approval")
        assert shop.coterie("result", "one").returncode == 0
        unknown = shop.coterie("record", "one", "-o", "one.test.yml")
        assert (unknown.returncode, "name its file with `--team FILE`" in unknown.stderr) == (
            2,
            True,
        )
        recorded = shop.coterie("record", "one", "-o", "letter.test.yml")  # beside `letter.yml`
        assert recorded.returncode == 0, recorded.stderr
        tests = read((shop.folder / "letter.test.yml").read_text(), "letter.test.yml").plain()
        assert isinstance(tests, dict)
        assert tests["context"] == {"topic": "rain"}
        passed = shop.coterie("test", "letter.test.yml")
        assert passed.returncode == 0, passed.stdout + passed.stderr
        team.write_text(TEAM.replace("text:", "letter:"))
        changed = shop.coterie("test", "letter.test.yml")
        assert changed.returncode == 1
        assert 'context.text: expected "It rains.", found nothing' in changed.stdout


def test_a_run_that_goes_on_cannot_be_recorded_yet(tmp_path: Path) -> None:
    with project(tmp_path / "shop") as shop:
        assert shop.coterie("server").returncode == 0
        begun = shop.coterie("start", "development", "--set", "requirement=x", "--id", "slow")
        assert begun.returncode == 0, begun.stderr
        done = shop.coterie("record", "slow", "-o", "slow.test.yml")
        assert done.returncode == 2
        assert "run 'slow' is still open; record it when it has ended" in done.stderr
        assert not (shop.folder / "slow.test.yml").exists()


def test_an_event_of_a_team_that_no_case_runs_is_reported(shop: Project) -> None:
    folder = shop.folder / "config" / "teams"
    team = TEAM.replace("    draft:\n", "    draft:\n      event: drafted\n", 1)
    team = team.replace("next_team: null", "next_team: send").replace("text:", "draft:")
    team += (
        "    send:\n      event: sent\n      tasks: [{ name: out, type: set, values: { a: 1 } }]\n"
    )
    (folder / "letter.yml").write_text(team)
    rejected = (
        "answers: [{ task: write, answer: It rains. }]\ncontext: { topic: rain }\n"
        "cases:\n  - { name: not signed, expect: { end: completed } }\n"
    )
    (folder / "letter.test.yml").write_text(rejected)
    text = "letter.test.yml: no case runs the team 'send', so its event 'sent' is not tested"
    assert text in shop.coterie("test").stderr
    signed = "    decisions: [{ decision: approve, by: ada }]\n"
    both = rejected + "  - name: signed\n" + signed
    (folder / "letter.test.yml").write_text(both)
    assert "is not tested" not in shop.coterie("test").stderr
