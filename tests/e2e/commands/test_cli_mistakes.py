"""A mistaken command in a process of its own; most mistakes are proved in `tests/unit/coterie`."""

import json

from tests.support.cli import sentence
from tests.support.project import Project


def test_a_missing_key_is_named_before_anything_starts(quiet_desk: Project) -> None:
    done = quiet_desk.coterie("run", "article", "--model", "openai/some-model")
    assert done.returncode == 2
    assert "OPENAI_API_KEY, which is not set" in sentence(done)
    assert not (quiet_desk.folder / ".coterie").exists()


def test_a_wrong_call_shows_how_it_goes(quiet_desk: Project) -> None:
    for arguments in ((), ("frobnicate",), ("status",)):
        done = quiet_desk.coterie(*arguments)
        assert done.returncode == 2
        assert "usage: coterie" in done.stderr


def test_help_and_version_are_no_mistakes(quiet_desk: Project) -> None:
    assert "validate" in quiet_desk.coterie("--help").stdout
    assert "--decisions" in quiet_desk.coterie("run", "--help").stdout
    version = quiet_desk.coterie("--version")
    assert version.returncode == 0
    assert version.stdout.startswith("coterie ")


def test_state_keeps_itself_out_of_version_control(quiet_desk: Project) -> None:
    quiet_desk.coterie("server")
    report = json.loads(quiet_desk.coterie("server", "--status", "--json").stdout)
    assert report["running"] is True
    assert (quiet_desk.folder / ".coterie" / ".gitignore").read_text() == "*\n"
