"""No run of an example or of a shipped team asks because of labels where its files are trusted."""

import shutil
from pathlib import Path
from typing import cast

import pytest
import yaml

from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located
from coterie.dsl.analysis.findings import analysed
from coterie.dsl.values import Json
from coterie.settings import load
from tests.law.sources import ROOT

PROJECTS = sorted(
    file
    for file in (ROOT / "examples").glob("*/*.yml")
    if file.with_name(f"{file.stem}.test.yml").exists() and file.with_name("coterie.yml").exists()
)
WORKER = "worker: { %ssandbox: none, commands: { test: { run: [make] } } }\n"
ASKING = ["development", "implementation_review", "test_automation"]
"""Teams whose personas read files and run commands, which may use the network here."""
SHIPPED = sorted(file.stem for file in (ROOT / "config" / "teams").glob("*.yml"))


def questions(target: str, folder: Path) -> list[str]:
    catalog = Catalog(load({"PATH": "/usr/bin:/bin"}, folder))
    compiled = compile_located(catalog, catalog.locate(target))
    return [one.message for one in analysed(compiled).findings if one.code == "W521"]


def example_questions(project: Path, folder: Path, *, vouched: bool) -> list[str]:
    """Return what a copy of an example asks where its commands run without a sandbox."""
    copy = shutil.copytree(project.parent, folder / project.parent.name)
    settings = cast("Json", yaml.safe_load((copy / "coterie.yml").read_text()))
    worker = cast("Json", settings["worker"]) | {"sandbox": "none"}
    if not vouched:
        worker["trusted_paths"] = []
    (copy / "coterie.yml").write_text(yaml.safe_dump(settings | {"worker": worker}))
    return questions(str(copy / project.name), copy)


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.stem)
def test_no_example_asks_a_needless_question(project: Path, tmp_path: Path) -> None:
    assert example_questions(project, tmp_path, vouched=True) == []


def test_an_example_asks_where_nobody_vouches_for_its_files(tmp_path: Path) -> None:
    """The other examples send nothing out."""
    asking = [one.stem for one in PROJECTS if example_questions(one, tmp_path, vouched=False)]
    assert asking == ["change", "desk"]


@pytest.mark.parametrize("team", SHIPPED)
def test_no_shipped_team_asks_a_needless_question(team: str, tmp_path: Path) -> None:
    """Not even where commands run without a sandbox."""
    (tmp_path / "coterie.yml").write_text(WORKER % 'trusted_paths: ["**"], ')
    assert questions(team, tmp_path) == []


def test_a_team_asks_where_nobody_vouches_for_its_files(tmp_path: Path) -> None:
    (tmp_path / "coterie.yml").write_text(WORKER % "")
    assert [team for team in SHIPPED if questions(team, tmp_path)] == ASKING


@pytest.mark.parametrize("template", ["project", "tool_project"])
def test_a_new_project_vouches_for_its_files(template: str) -> None:
    """The template declares it, and its owner narrows it."""
    file = ROOT / "config" / template / "coterie.yml"
    worker = cast("Json", yaml.safe_load(file.read_text())["worker"])
    assert worker["trusted_paths"] == ["**"]
