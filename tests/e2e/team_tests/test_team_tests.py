"""The tests of teams that this project ships run as its users' do: each file, every case."""

from pathlib import Path
from shutil import copytree
from typing import get_args

import pytest
from temporalio.client import Client

from coterie.documents.catalog import shipped_root
from coterie.documents.new_project import create_tool_project
from coterie.dsl.model.document import TeamDocument
from coterie.dsl.model.steps import STEP_KINDS
from coterie.dsl.model.traversal.step_walk import walk
from tests.support.team_tests import failures_text, read, results

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "language"
PROJECTS = ROOT / "examples"
"""Each of its folders with a `coterie.yml` and tests is a project that the README describes."""
SHIPPED = ROOT / "tests" / "teams"
SKETCHES = ROOT / "tests" / "data" / "sketches"
FILES = [
    file
    for folder, name in (
        (EXAMPLES, "*.test.yml"),
        (SHIPPED, "*.test.yml"),
        (SKETCHES, "*/*.test.yml"),
        (PROJECTS, "*/*.test.yml"),
    )
    for file in sorted(folder.glob(name))
    if folder != PROJECTS or file.with_name("coterie.yml").exists()
]
TYPES = get_args(TeamDocument.model_fields["type"].annotation)
NAMES = {
    **{type: f"{type}_team.yml" for type in TYPES},
    "chat": "chat.yml",
    "concentrator": "concentrator.yml",
}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.removesuffix(".test.yml"))
async def test_a_team_is_as_its_tests_expect(skipping_client: Client, file: Path) -> None:
    assert failures_text(await results(skipping_client, read(file))) == ""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.removesuffix(".test.yml"))
def test_a_team_that_shows_something_has_no_warning(file: Path) -> None:
    assert [problem.message for problem in read(file).warnings] == []


async def test_the_team_of_a_new_project_is_as_its_tests_expect(
    skipping_client: Client, tmp_path: Path
) -> None:
    """`coterie init` writes a copy, too; where it is kept, the shipped personas lie around it."""
    copytree(shipped_root() / "project", tmp_path / "new")
    [file] = (tmp_path / "new" / "config" / "teams").glob("*.test.yml")
    test = read(file)
    assert [problem.message for problem in test.warnings] == []
    assert failures_text(await results(skipping_client, test)) == ""


async def test_the_team_of_a_new_tool_is_as_its_tests_expect(
    skipping_client: Client, tmp_path: Path
) -> None:
    create_tool_project(tmp_path, "demo")
    [file] = (tmp_path / "config" / "teams").glob("*.test.yml")
    test = read(file)
    assert [problem.message for problem in test.warnings] == []
    assert failures_text(await results(skipping_client, test)) == ""


def test_every_shipped_team_has_tests() -> None:
    teams = {file.stem for file in (shipped_root() / "teams").glob("*.yml")}
    assert teams <= {file.name.removesuffix(".test.yml") for file in SHIPPED.glob("*.test.yml")}


@pytest.mark.parametrize("kind", STEP_KINDS)
def test_every_kind_of_step_has_an_example_with_tests(kind: str) -> None:
    plan = read(EXAMPLES / f"{kind}.test.yml").team.compiled.plan
    plans = [persona.execution_plan or () for persona in plan.personas.values()]
    steps = [*(team.steps for team in plan.teams.values()), *plans]
    assert kind in {step.kind for some in steps for step, _ in walk(some, ())}


@pytest.mark.parametrize("type", TYPES)
def test_every_type_of_team_has_an_example_with_tests(type: str) -> None:
    file = EXAMPLES / NAMES[type]
    assert f"type: {type}" in file.read_text() or type == "standard"
    assert read(file.with_name(f"{file.stem}.test.yml")).cases
