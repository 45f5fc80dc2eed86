"""`coterie memory`: runs remember in PostgreSQL, each user apart; people list and forget."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import sentence
from tests.support.databases.postgres_server import postgres
from tests.support.project import Project

__all__ = ["postgres"]

TEAM = """
name: notes
tools:
  remember: { skill: Memory.store, memory: { scope: user, expires: 30d } }
  recall: { skill: Memory.search, memory: { scope: user } }
orchestration:
  user: "{{ context.customer }}"
  context:
    customer: { type: string }
    text: { type: string }
  output: "{{ teams.work.tasks.look.data.memories | map(attribute='text') | list }}"
  entry_team: work
  teams:
    work:
      tasks:
        - { name: keep, type: tool, tool: remember, arguments: { text: "{{ context.text }}" } }
        - { name: look, type: tool, tool: recall, arguments: { query: "What to drink?" } }
"""
STARTER = TEAM.replace('"{{ context.customer }}"', "starter").replace(
    "    customer: { type: string }\n", ""
)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path / "project")
    (made.folder / "notes.yml").write_text(TEAM)
    (made.folder / "mine.yml").write_text(STARTER)
    yield made
    made.close()


def remembered(project: Project, *choice: str) -> list[dict[str, object]]:
    done = project.coterie("memory", "list", "--json", *choice)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_each_user_has_a_memory_in_the_database(project: Project, postgres: str) -> None:
    (project.folder / "coterie.yml").write_text(
        "worker: { memory: { url_env: MEMORY_URL, project: notes } }\n"
    )
    project.environment["MEMORY_URL"] = postgres
    for customer, text in (("ann", "Ann drinks tea."), ("ben", "Ben drinks coffee.")):
        done = project.coterie(
            *("run", "notes.yml", "--set", f"customer={customer}", "--set", f"text={text}")
        )
        assert done.returncode == 0, done.stderr
        assert text in done.stdout
    (ann,) = remembered(project, "--user", "ann")
    assert (ann["text"], ann["topic"], ann["untrusted"]) == ("Ann drinks tea.", "general", False)
    assert str(ann["run"]).startswith("notes-")
    assert ann["expires"] is not None
    assert not (project.folder / ".coterie/knowledge").exists()
    receipt = project.coterie("memory", "forget", "--user", "ann", "--json")
    assert json.loads(receipt.stdout)["forgotten"] == 1
    assert [one["text"] for one in remembered(project)] == ["Ben drinks coffee."]


def test_who_starts_a_run_by_a_command_has_a_memory_in_the_file(project: Project) -> None:
    done = project.coterie("run", "mine.yml", "--set", "text=I drink \x1b[31m water.")
    assert done.returncode == 0, done.stderr
    shown = project.coterie("memory", "list")
    assert "user login:" in shown.stdout
    assert "I drink \\u001b[31m water." in shown.stdout
    assert project.coterie("memory", "forget", "--scope", "user").stdout == "forgot 1 entry\n"
    assert remembered(project) == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("forget",), "say what to forget"),
        (("forget", "--all", "--user", "ann"), "say what to forget"),
        (("list", "--user", "ann", "--team", "x"), "not allowed with"),
        (("list", "--all"), "`--all` is for `forget`"),
        (("forget", "--user", "ann", "--limit", "1"), "`--limit` is for `list`"),
        (("list", "--limit", "0"), "a number from 1 to 10000"),
    ],
)
def test_a_choice_that_is_unclear_is_refused(
    project: Project, words: tuple[str, ...], expected: str
) -> None:
    done = project.coterie("memory", *words)
    assert done.returncode == 2
    assert expected in sentence(done)
    assert project.coterie("memory", "list").stderr == "nothing is remembered there\n"


def test_a_database_that_is_away_is_no_bug(project: Project) -> None:
    (project.folder / "coterie.yml").write_text("worker: { memory: { url_env: MEMORY_URL } }\n")
    project.environment["MEMORY_URL"] = "postgresql://ann:secret-word@127.0.0.1:1/notes"
    done = project.coterie("memory", "list")
    assert done.returncode == 2
    assert "the memories cannot be reached" in sentence(done)
    assert "secret-word" not in done.stderr
