"""`validate` as people and pipelines call it: files, folders, several at once, all reported."""

import json

import pytest

from tests.support.project import Project

WRONG = """\
llm_config:
  personas:
    writer: { prompts: { user: "Hello." } }
orchestration:
  entry_team: first
  teams:
    first:
      tasks:
        - { name: say, agent_type: generic_single_shot, persona_key: writr }
"""
TOLD = """\
wrong.yml:9:70: unknown persona 'writr' [E202]
     9 |         - { name: say, agent_type: generic_single_shot, persona_key: writr }
       |                                                                      ^
    first/say: persona_key
    allowed: writer
    fix: did you mean 'writer'?
"""
WARNED = """\
orchestration:
  entry_team: first
  teams:
    first:
      tasks:
        - { name: ask, type: approval, prompt: "Go on?" }
"""


def write(desk: Project, **files: str) -> None:
    """Write files into the project; `__` is a folder, and each is YAML."""
    for name, text in files.items():
        file = desk.folder / f"{name.replace('__', '/')}.yml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def test_a_problem_is_reported_with_all_that_mends_it(quiet_desk: Project) -> None:
    write(quiet_desk, wrong=WRONG)
    done = quiet_desk.coterie("validate", "wrong.yml")
    assert done.stdout == TOLD
    assert done.stderr == ("wrong.yml: 1 problem\n`coterie explain E202` shows the cause and fix\n")
    assert done.returncode == 2


def test_validate_reads_and_counts_every_document_of_a_folder(quiet_desk: Project) -> None:
    """Personas, the script of answers and the system file are no documents."""
    done = quiet_desk.coterie("validate", "config")
    assert done.returncode == 0, done.stdout
    assert done.stderr == "config (4 documents read, 4 other files skipped): no problems\n"


def test_the_documents_of_a_folder_are_found_at_any_depth(quiet_desk: Project) -> None:
    write(
        quiet_desk,
        teams__one=WARNED,
        teams__deep__two=WRONG,
        teams__one__test="cases: []",
        teams__answers="- { text: orchestration }",
        teams__coterie=WARNED.partition("  teams:")[0],
    )
    (quiet_desk.folder / "teams" / "three.yaml").write_text(WARNED)
    (quiet_desk.folder / "teams" / "one.test.yml").write_text(WARNED)
    (quiet_desk.folder / "teams" / ".hidden.yml").write_text(WRONG)
    (quiet_desk.folder / "teams" / ".git").mkdir()
    (quiet_desk.folder / "teams" / ".git" / "four.yml").write_text(WRONG)
    done = quiet_desk.coterie("validate", "teams", "--json")
    files = [(problem["file"], problem["code"]) for problem in json.loads(done.stdout)]
    assert files == [
        ("teams/deep/two.yml", "E202"),
        ("teams/one.yml", "W502"),
        ("teams/three.yaml", "W502"),
    ]
    assert "3 documents read, 4 other files skipped" in done.stderr


def test_a_file_that_breaks_off_is_reported_although_nobody_knows_what_it_is(
    quiet_desk: Project,
) -> None:
    write(quiet_desk, teams__broken="orchestration:\n  teams: [\n", teams__one=WARNED)
    done = quiet_desk.coterie("validate", "teams")
    assert done.returncode == 2
    assert "teams/broken.yml:" in done.stdout
    assert "[E002]" in done.stdout
    assert "2 documents read" in done.stderr


def test_a_folder_without_a_document_is_a_mistake(quiet_desk: Project) -> None:
    done = quiet_desk.coterie("validate", "config/personas", "chore")
    assert done.returncode == 2
    assert "config/personas is a folder without documents [E001]" in done.stdout
    assert "allowed: .yml and .yaml files with the key `orchestration`" in done.stdout


def test_several_targets_are_read_at_once_and_each_document_once(quiet_desk: Project) -> None:
    write(quiet_desk, wrong=WRONG, teams__one=WARNED)
    done = quiet_desk.coterie(
        "validate", "wrong.yml", "teams", "teams/one.yml", "nowhere.yml", "chore", "--json"
    )
    assert done.returncode == 2
    found = [(problem["file"], problem["code"]) for problem in json.loads(done.stdout)]
    assert found == [("wrong.yml", "E202"), ("teams/one.yml", "W502"), ("nowhere.yml", "E001")]
    assert "(3 documents read): 2 problems, 1 warning" in done.stderr


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        (WARNED, (), 0),
        (WARNED, ("--strict",), 1),
        (WARNED, ("--strict", "--json"), 1),
        (WARNED.replace('?"', '?", deadline: 1h'), ("--strict",), 0),
        (WRONG, (), 2),
        (WRONG, ("--strict",), 2),
    ],
)
def test_warnings_fail_when_they_are_said_to(
    quiet_desk: Project, text: str, options: tuple[str, ...], code: int
) -> None:
    write(quiet_desk, team=text)
    done = quiet_desk.coterie("validate", "team.yml", *options)
    assert done.returncode == code, done.stdout


def test_json_is_a_list_of_problems_with_all_their_keys(quiet_desk: Project) -> None:
    write(quiet_desk, wrong=WRONG, fine=WARNED.replace('?"', '?", deadline: 1h'))
    done = quiet_desk.coterie("validate", "wrong.yml", "--json")
    assert json.loads(done.stdout) == [
        {
            "file": "wrong.yml",
            "line": 9,
            "column": 70,
            "code": "E202",
            "message": "unknown persona 'writr'",
            "fix": "did you mean 'writer'?",
            "allowed": "writer",
            "path": "orchestration.teams.first.tasks[0].persona_key",
            "step": "first/say: persona_key",
            "severity": "error",
        }
    ]
    assert json.loads(quiet_desk.coterie("validate", "fine.yml", "--json").stdout) == []
