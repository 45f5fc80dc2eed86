"""`coterie index`: index a folder, again only what changed, with sentences for mistakes."""

from pathlib import Path

import pytest

from tests.support.cli import sentence
from tests.support.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project")
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.md").write_text("# Shipping\n\nParcels arrive after two days.\n")
    (texts / "b.txt").write_text("Refunds need a receipt.\n")
    return made


def test_a_folder_is_indexed_and_again_only_what_changed(project: Project) -> None:
    texts = project.folder.parent / "texts"
    first = project.coterie("index", str(texts))
    assert first.returncode == 0, first.stderr
    assert first.stdout == (
        "texts: 2 indexed, 0 unchanged, 0 removed, 0 without readable text\n"
        "the index has 2 passages of 2 files\n"
    )
    (texts / "b.txt").unlink()
    again = project.coterie("index", "../texts", "--source", "texts")
    assert "texts: 0 indexed, 1 unchanged, 1 removed, 0 without" in again.stdout
    assert (project.folder / ".coterie/.gitignore").read_text() == "*\n"


def test_a_place_that_does_not_exist_is_named(project: Project) -> None:
    done = project.coterie("index", "absent")
    assert done.returncode == 2
    assert "nothing exists at absent; name a folder or a file" in sentence(done)
