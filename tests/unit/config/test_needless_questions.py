"""No run of an example or of a shipped team asks because of labels where its files are trusted."""

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

PROJECTS = [
    *("examples/code_change/change.yml", "examples/research_desk/research.yml"),
    "examples/ticket_desk/desk.yml",
]
WORKER = "worker: { %ssandbox: none, commands: { test: { run: [make] } } }\n"
ASKING = ["development", "implementation_review", "test_automation"]
"""Teams whose personas read files and run commands, which may use the network here."""
SHIPPED = sorted(file.stem for file in (ROOT / "config" / "teams").glob("*.yml"))


def questions(target: str, folder: Path) -> list[str]:
    catalog = Catalog(load({"PATH": "/usr/bin:/bin"}, folder))
    compiled = compile_located(catalog, catalog.locate(target))
    return [one.message for one in analysed(compiled).findings if one.code == "W521"]


@pytest.mark.parametrize("project", PROJECTS)
def test_no_example_asks_a_needless_question(project: str) -> None:
    file = ROOT / project
    assert questions(str(file), file.parent) == []


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
