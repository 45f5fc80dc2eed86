"""A new project is whole: its team has no problem, and it overwrites nothing."""

import json
import re
import shlex
from datetime import UTC, datetime
from pathlib import Path

import pytest

from coterie.cli import main
from coterie.deployed.proposals import proposal_of
from coterie.documents.catalog import Catalog
from coterie.documents.new_project import TEAM, create_project, create_tool_project
from coterie.failures import CommandError, ExitCode
from coterie.settings import load
from coterie.testing.files.case_reader import read_tests


def test_a_new_project_has_a_team_its_test_and_a_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "mine"]) == ExitCode.DONE
    written = capsys.readouterr().out.split()
    assert "coterie.yml" in written
    assert f"config/teams/{TEAM}.yml" in written
    assert f"config/teams/{TEAM}.test.yml" in written
    monkeypatch.chdir(tmp_path / "mine")
    assert main(["validate", "--strict", TEAM]) == ExitCode.DONE
    assert main(["check", TEAM]) == ExitCode.DONE


def test_a_new_project_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "coterie.yml").write_text("worker: {}\n")
    with pytest.raises(CommandError, match=r"already has coterie\.yml"):
        create_project(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["coterie.yml"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match="could not write to"):
        create_project(tmp_path / "file")


def test_the_tests_of_a_new_project_can_be_read(tmp_path: Path) -> None:
    """They are run with the shipped teams' tests: see tests/e2e/team_tests/test_team_tests.py."""
    create_project(tmp_path)
    file = tmp_path / "config" / "teams" / f"{TEAM}.test.yml"
    assert len(read_tests(load(cwd=file.parent), file).cases) == 2


def test_the_team_of_a_new_project_can_be_deployed_as_it_is(tmp_path: Path) -> None:
    create_project(tmp_path / "plain")
    create_tool_project(tmp_path / "tool", TEAM)
    for folder in ("plain", "tool"):
        catalog = Catalog(load(cwd=tmp_path / folder))
        assert proposal_of(catalog, TEAM, datetime.now(UTC)).team == TEAM


def test_every_command_that_a_new_tool_suggests_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`coterie test` and `coterie run`: see tests/e2e/team_tests/test_team_tests.py."""
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--tool", "demo", "mine"]) == ExitCode.DONE
    written = capsys.readouterr()
    assert "demo_tools.py" in written.out.split()
    monkeypatch.chdir(tmp_path / "mine")
    [suggested] = [line for line in written.err.splitlines() if "tools call" in line]
    assert main(["validate", "--strict", "demo"]) == ExitCode.DONE
    assert main(["check", "demo"]) == ExitCode.DONE
    assert main(["tools", "list"]) == ExitCode.DONE
    assert main(["tools", "show", "demo_tools:demo"]) == ExitCode.DONE
    assert "Count the words of a text" in capsys.readouterr().out
    assert main(["tools", "show", "demo"]) == ExitCode.CALL_WRONG
    assert "did you mean 'demo_tools:demo'?" in capsys.readouterr().err
    assert main(shlex.split(suggested)[1:]) == ExitCode.DONE
    assert json.loads(capsys.readouterr().out) == {"total": 3, "most_common": {"a": 2, "b": 1}}


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("Demo", "'Demo' cannot name a tool; use lower-case letters, digits and underscores"),
        ("../up", "'../up' cannot name a tool"),
        ("class", "'class' already means something in Python"),
        ("len", "'len' already means something in Python"),
    ],
)
def test_a_name_that_no_function_can_have_is_refused(tmp_path: Path, name: str, fault: str) -> None:
    with pytest.raises(CommandError, match=re.escape(fault)):
        create_tool_project(tmp_path, name)
    assert list(tmp_path.iterdir()) == []
