"""`validate` and `plan`: what a document is worth, without a server and without Temporal."""

import json
import subprocess
import sys

from coterie.dsl.model.plan import Plan
from tests.support.cli import sentence
from tests.support.project import Project

WRONG = """
nme: wrong
llm_config:
  personas:
    writer: { prompts: { user: "Hello." } }
orchestration:
  entry_team: first
  teams:
    first:
      tasks:
        - { name: say, agent_type: generic_single_shot, persona_key: writr }
      routing:
        rules: [{ condition: all_success, next_team: sekond }]
        default: null
"""


def test_every_problem_is_reported_with_its_place_and_its_line(quiet_desk: Project) -> None:
    (quiet_desk.folder / "wrong.yml").write_text(WRONG)
    done = quiet_desk.coterie("validate", "wrong.yml")
    assert done.returncode == 2
    assert "wrong.yml:2:1: unknown key 'nme' [E101]" in done.stdout
    assert "     2 | nme: wrong\n       | ^" in done.stdout
    column = WRONG.splitlines()[10].index("writr") + 1
    assert f"wrong.yml:11:{column}: unknown persona 'writr' [E202]" in done.stdout
    assert "fix: did you mean 'writer'?" in done.stdout
    assert "wrong.yml:13:" in done.stdout
    assert "wrong.yml: 3 problems" in done.stderr


def test_problems_as_json_have_their_keys(quiet_desk: Project) -> None:
    (quiet_desk.folder / "wrong.yml").write_text(WRONG)
    done = quiet_desk.coterie("validate", "wrong.yml", "--json")
    assert done.returncode == 2
    problems = json.loads(done.stdout)
    assert [(p["line"], p["code"]) for p in problems] == [(2, "E101"), (11, "E202"), (13, "E201")]
    assert all(p["file"] == "wrong.yml" and p["column"] >= 1 and p["message"] for p in problems)
    assert {"file", "line", "column", "code", "message", "fix"} <= problems[0].keys()


def test_without_a_target_all_teams_of_the_project_are_checked(quiet_desk: Project) -> None:
    assert quiet_desk.coterie("validate").returncode == 0
    (quiet_desk.folder / "config" / "teams" / "wrong.yml").write_text(WRONG)
    done = quiet_desk.coterie("validate", "--json")
    assert done.returncode == 2
    assert {p["file"] for p in json.loads(done.stdout)} == {"config/teams/wrong.yml"}


def test_a_file_that_is_not_there_is_a_problem_too(quiet_desk: Project) -> None:
    done = quiet_desk.coterie("validate", "config/teams/artikle.yml", "--json")
    assert done.returncode == 2
    [problem] = json.loads(done.stdout)
    assert problem["code"] == "E001"
    assert problem["fix"] == "did you mean 'config/teams/article.yml'?"


def test_an_unknown_team_names_the_known_ones(quiet_desk: Project) -> None:
    done = quiet_desk.coterie("plan", "artikle")
    assert done.returncode == 2
    assert "artikle is neither a file nor a team" in sentence(done)
    assert "did you mean 'article'?" in done.stderr
    assert "development" in done.stderr, "the shipped teams are known as well"


def test_a_plan_shows_teams_personas_and_routes(quiet_desk: Project) -> None:
    done = quiet_desk.coterie("plan", "article")
    assert done.returncode == 0
    assert "- judge: agent judge, scripted/demo" in done.stdout
    assert "- sign_off: approval by anyone, within 1 d, else reject" in done.stdout
    assert "1. -> review  when all_success; sets text" in done.stdout
    assert "else -> writing" in done.stdout


def test_a_plan_as_json_is_the_plan_that_enters_a_run(quiet_desk: Project) -> None:
    done = quiet_desk.coterie("plan", "article", "--model", "anthropic/some-model", "--json")
    plan = Plan.model_validate_json(done.stdout)
    assert plan.with_digest().digest == plan.digest
    assert {p.provider for p in plan.personas.values()} == {"anthropic"}


def test_the_projects_word_is_laid_over_its_documents(quiet_desk: Project) -> None:
    quiet_desk.configure(llm_config={"default_model": "another"})
    done = quiet_desk.coterie("plan", "article")
    assert "scripted/another" in done.stdout


def test_checking_a_document_loads_neither_temporal_nor_what_implements_it(
    quiet_desk: Project,
) -> None:
    unwanted = (
        "temporalio",
        "anthropic",
        "openai",
        "rich",
        "asyncio",
        "jsonschema",
        "filelock",
        "pathspec",
        "coterie.activities.tool_functions.function_registry",
        "coterie.activities.contracts",
    )
    code = (
        "import sys; from coterie.cli import main; main(['validate', 'article']);"
        f"print([name for name in {unwanted} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=quiet_desk.folder,
        env=quiet_desk.environment,
        text=True,
        capture_output=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"
