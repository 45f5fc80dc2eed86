"""Folders of agent skills: what is read of them, and where no entry leads."""

import os
from importlib.util import find_spec
from pathlib import Path
from shutil import copytree

import pytest

from coterie.cli import main
from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located
from coterie.dsl.errors import InvalidDocument, Problem
from coterie.dsl.model.plan import Plan
from coterie.settings import load

_TEAM = """
llm_config:
  default_provider: anthropic
  default_model: claude-sonnet-5-5
  personas: { clerk: { agent_skills: ENTRY, prompts: { user: Answer. } } }
orchestration:
  entry_team: desk
  teams: { desk: { tasks: [{ name: reply, persona_key: clerk }] } }
"""


class Folder:
    """A project with a team that has agent skills."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write("coterie.yml", "")

    def write(self, name: str, text: str | bytes) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def skill(self, folder: str, text: str = "Do it.") -> Path:
        """Write a skill with the name of its folder."""
        name = folder.rpartition("/")[2]
        head = f"---\nname: {name}\ndescription: Does {name}.\n---\n"
        return self.write(f"{folder}/SKILL.md", head + text)

    def plan(self, entry: str = "skills", document: str = "team.yml") -> Plan:
        self.write(document, _TEAM.replace("ENTRY", entry))
        catalog = Catalog(load({}, self.path))
        return compile_located(catalog, catalog.locate(document)).plan

    def problems(self, entry: str = "skills") -> list[Problem]:
        with pytest.raises(InvalidDocument) as caught:
            self.plan(entry)
        return list(caught.value.problems)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "project")
    made.skill("skills/refunds")
    return made


def test_an_entry_is_a_folder_of_skills_or_one_skill(folder: Folder) -> None:
    folder.skill("skills/poems")
    folder.write("skills/README.md", "Not a skill.")
    folder.write("skills/drafts/notes.md", "Not a skill.")
    assert folder.plan().skills.keys() == {"poems", "refunds"}
    assert folder.plan("[skills/poems]").skills.keys() == {"poems"}
    assert folder.plan("../skills", "parts/team.yml").skills.keys() == {"poems", "refunds"}


def test_a_skill_has_its_texts_and_the_sizes_of_its_other_files(folder: Folder) -> None:
    folder.write("skills/refunds/references/deep/limits.md", "100")
    folder.write("skills/refunds/assets/logo.png", b"\x89PNG\xff\0")
    folder.write("skills/refunds/assets/zeros.txt", "a\0b")
    folder.write("skills/refunds/assets/large.txt", "x" * 200_001)
    folder.write("skills/refunds/.git/config", "secret")
    folder.write("skills/refunds/__pycache__/a.pyc", "cache")
    files = folder.plan().skills["refunds"].files
    assert {path: (file.size, file.text) for path, file in files.items()} == {
        "SKILL.md": (6, "Do it."),
        "assets/large.txt": (200_001, None),
        "assets/logo.png": (6, None),
        "assets/zeros.txt": (3, None),
        "references/deep/limits.md": (3, "100"),
    }


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("nowhere", "is not a folder"),
        ("team.yml", "is not a folder"),
        ("empty", "has no SKILL.md"),
        ("/etc", "is not a folder within the project"),
        ("~/skills", "is not a folder within the project"),
        ("https://example.org/skills", "is not a folder within the project"),
        ("../outside", "leads out of the project"),
        ("link", "leads out of the project"),
        ("linked", "leads out of the project"),
        ("held", "leads out of the project"),
    ],
)
def test_no_entry_leads_out_of_the_project(folder: Folder, entry: str, reason: str) -> None:
    Folder(folder.path.parent / "outside").skill("stolen")
    (folder.path / "empty").mkdir()
    (folder.path / "link").symlink_to("../outside")
    folder.skill("linked/a")
    (folder.path / "linked/a/secret.md").symlink_to("../../../outside/stolen/SKILL.md")
    (folder.path / "held").mkdir()
    (folder.path / "held/stolen").symlink_to("../../outside/stolen")
    (problem,) = folder.problems(entry)
    assert (problem.code, problem.file, problem.line) == ("E008", "team.yml", 5)
    assert reason in problem.message


def test_a_document_outside_a_project_stays_in_its_folder(tmp_path: Path) -> None:
    alone = Folder(tmp_path / "alone")
    (alone.path / "coterie.yml").unlink()
    Folder(tmp_path).skill("skills/refunds")
    (tmp_path / "coterie.yml").unlink()
    assert [problem.code for problem in alone.problems("../skills")] == ["E008"]


def test_what_is_too_much_is_refused(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(201):
        folder.write(f"skills/refunds/{number}.md", "x")
    assert "more than 200 files" in folder.problems()[0].message
    folder.write("deep/a/SKILL.md", "---\nname: a\ndescription: x\n---\n")
    folder.write("deep/a/1/2/3/4/5/6/x.md", "x")
    assert "deeper than 5 folders" in folder.problems("deep")[0].message
    folder.write("large/a/SKILL.md", "---\nname: a\ndescription: x\n---\n" + "x" * 200_000)
    (problem,) = folder.problems("large")
    assert (problem.code, problem.file) == ("E001", "large/a/SKILL.md")
    for number in range(101):
        folder.skill(f"many/s{number}")
    assert "101 skills" in folder.problems("many")[0].message
    for number in range(2_001):
        folder.write(f"wide/{number}/x", "")
    assert "more than 2,000 files" in folder.problems("wide")[0].message


def test_a_link_in_a_circle_ends(folder: Folder) -> None:
    (folder.path / "skills/refunds/again").symlink_to(".")
    assert folder.problems()[0].code == "E008"


def test_odd_files_are_not_waited_for_and_their_names_cannot_hide(folder: Folder) -> None:
    os.mkfifo(folder.path / "skills/refunds/pipe")
    assert folder.plan().skills["refunds"].files["pipe"].text is None
    folder.write("skills/refunds/a\x1b[31m.md", "x")
    (problem,) = folder.problems()
    assert "a\\u001b[31m.md" in problem.message


def test_mistakes_of_all_files_are_reported_in_one_pass(folder: Folder) -> None:
    folder.write("skills/a/SKILL.md", "no front matter")
    folder.write("skills/b/SKILL.md", b"---\nname: b\n\xff---\n")
    folder.write("skills/c/SKILL.md", "---\nname: d\n---\n")
    found = [(one.file, one.code) for one in folder.problems()]
    assert found == [
        ("skills/a/SKILL.md", "E102"),
        ("skills/b/SKILL.md", "E001"),
        ("skills/c/SKILL.md", "E102"),
        ("skills/c/SKILL.md", "E105"),
    ]


def test_a_published_skill_is_read_as_it_is_installed(folder: Folder) -> None:
    package = find_spec("fastapi")
    assert package is not None
    assert package.origin is not None
    copytree(Path(package.origin).parent / ".agents", folder.path / ".agents")
    plan = folder.plan(".agents/skills")
    files = plan.skills["fastapi"].files
    assert files["SKILL.md"].text
    assert any(path.startswith("references/") and file.text for path, file in files.items())
    assert "fastapi: " in plan.personas["clerk"].skill_list


def test_the_command_line_shows_the_line_of_a_skill(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.write("skills/refunds/SKILL.md", "---\nname: refunds\ndescrption: x\n---\n")
    folder.write("team.yml", _TEAM.replace("ENTRY", "skills"))
    monkeypatch.chdir(folder.path)
    assert main(["validate", "team.yml"]) == 2
    shown = capsys.readouterr().out
    assert "skills/refunds/SKILL.md:3:1: unknown key 'descrption'" in shown
    assert "is missing" not in shown
    assert "did you mean 'description'?" in shown


def test_check_says_what_skills_cost(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.skill("skills/refunds", "x" * 4_000)
    folder.write("team.yml", _TEAM.replace("ENTRY", "skills"))
    monkeypatch.chdir(folder.path)
    assert main(["check", "team.yml"]) == 0
    shown = capsys.readouterr().out
    assert "  clerk  1 skill  about 44 tokens in each request" in shown
    assert "at most 1,000 more in one that has read them all" in shown
