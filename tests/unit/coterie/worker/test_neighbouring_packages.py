"""Coterie is one import package, so a project may have packages of any other name."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from coterie.dsl.model.sections.package_names import RESERVED_PACKAGE
from tests.law.sources import ROOMS, ROOT
from tests.support.compiling import problems_of

NAMES = ("activities", "config", "dsl", "workflows", "tests", "bench")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a package of each name that stands at the top of our checkout."""
    for name in NAMES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("MINE = True\n")
    return tmp_path


def called(words: list[str], folder: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, **environment},
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_module_runs_beside_packages_of_the_names_of_our_rooms(project: Path) -> None:
    assert "no problems" in called(["-m", "coterie", "validate", "development"], project)


def test_the_script_runs_with_such_packages_first_on_the_path(project: Path) -> None:
    script = str(Path(sys.executable).parent / "coterie")
    assert "no problems" in called([script, "validate", "development"], project, PYTHONPATH=".")


def test_ours_and_those_of_the_project_are_loaded_side_by_side(project: Path) -> None:
    code = (
        "import activities, config, dsl, workflows, tests\n"
        "import coterie.worker.workers, coterie.workflows.team, coterie.activities.factory\n"
        "import coterie.config as ours\n"
        "assert all(hasattr(p, 'MINE') for p in (activities, config, dsl, workflows, tests))\n"
        "assert not hasattr(ours, 'MINE')\n"
    )
    called(["-c", code], project, PYTHONPATH=".")


def test_no_module_of_ours_is_found_by_a_second_name() -> None:
    """Only the rooms are found beside `coterie`: neither the tests nor the package itself."""
    code = (
        "import importlib.util, json, coterie\n"
        "names = ['coterie', 'tests', 'bench', 'docs', 'examples', 'evals']\n"
        "print(json.dumps([n for n in names if importlib.util.find_spec(f'coterie.{n}')]))\n"
    )
    assert json.loads(called(["-c", code], ROOT)) == ["evals"]  # a shelf of the front door


@pytest.mark.parametrize("package", ["coterie", "coterie.agents"])
def test_agent_packages_refuse_the_name_of_ours_with_the_reason(package: str) -> None:
    found = problems_of(f"worker:\n  agent_packages: [mine, {package}]\n")
    [problem] = [one for one in found if one.code == "E103"]
    assert (problem.line, problem.path) == (2, "worker.agent_packages[1]")
    assert "Coterie has its own package" in problem.allowed
    assert "rename yours" in problem.allowed


@pytest.mark.parametrize("package", [*NAMES, *(room for room in ROOMS if room != RESERVED_PACKAGE)])
def test_every_other_name_is_allowed(package: str) -> None:
    found = problems_of(f"worker:\n  agent_packages: [{package}, {package}.agents]\n")
    assert [problem.code for problem in found] == ["E102"]  # nothing but the missing orchestration
