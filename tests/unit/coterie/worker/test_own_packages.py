"""Coterie imports its own packages, whatever packages the project around it has."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from activities.agents.agent_base import AgentServices
from activities.agents.legacy import LegacyAgent
from activities.agents.refusals import AgentRefused
from activities.user_code.child_pool import UserCode
from coterie.own_packages import ROOMS
from dsl.model.sections.package_names import RESERVED_PACKAGES
from tests.law.sources import ROOMS as ALL_ROOMS
from tests.support.compiling import problems_of


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a package of each of our names."""
    for name in ROOMS:
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


def test_the_module_runs_beside_packages_of_the_same_names(project: Path) -> None:
    assert "no problems" in called(["-m", "coterie", "validate", "development"], project)


def test_the_script_runs_with_such_packages_first_on_the_path(project: Path) -> None:
    script = str(Path(sys.executable).parent / "coterie")
    assert "no problems" in called([script, "validate", "development"], project, PYTHONPATH=".")


def test_the_workflow_and_what_it_calls_are_ours_in_such_a_project(project: Path) -> None:
    code = (
        "import coterie.worker.workers, workflows.team, activities.factory, config, dsl\n"
        "assert not any(hasattr(p, 'MINE') for p in (workflows, activities, config, dsl))\n"
    )
    called(["-c", code], project, PYTHONPATH=".")


def test_a_package_that_came_first_is_named(project: Path) -> None:
    code = (
        "import config\n"
        "try:\n"
        "    import coterie.cli\n"
        "except ImportError as error:\n"
        "    assert \"another package called 'config'\" in str(error), error\n"
        "else:\n"
        "    raise SystemExit('not refused')\n"
    )
    called(["-c", code], project, PYTHONPATH=".")


@pytest.mark.parametrize("package", ["workflows", "config.agents", "coterie"])
def test_agent_packages_refuse_a_name_of_ours_with_the_reason(package: str) -> None:
    found = problems_of(f"worker:\n  agent_packages: [mine, {package}]\n")
    [problem] = [one for one in found if one.code == "E103"]
    assert (problem.line, problem.path) == (2, "worker.agent_packages[1]")
    assert "Coterie has its own package" in problem.allowed
    assert "rename yours" in problem.allowed


def test_a_name_that_only_begins_like_ours_is_allowed() -> None:
    found = problems_of("worker:\n  agent_packages: [workflows_of_mine, configs]\n")
    assert [problem.code for problem in found] == ["E102"]  # nothing but the missing orchestration


async def test_a_class_that_imports_a_hidden_package_is_refused_with_the_reason(
    tmp_path: Path,
) -> None:
    (tmp_path / "house_of_agents.py").write_text("from config import a_setting_of_mine\n")
    user_code = UserCode(tmp_path, {}, [str(tmp_path)])
    agent = LegacyAgent("house_of_agents.Writer", "writer", {})
    agent.attach(AgentServices(user_code=user_code))
    with pytest.raises(AgentRefused, match="Coterie has its own package 'config'"):
        await agent.process({})
    await user_code.close()


def test_every_room_is_reserved() -> None:
    assert set(RESERVED_PACKAGES) == set(ALL_ROOMS) == {*ROOMS, "coterie"}
