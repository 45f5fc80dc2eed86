"""Which files a worker trusts follows from its own configuration."""

from importlib.machinery import all_suffixes
from pathlib import Path

import pytest

from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_target
from coterie.documents.trusted_catalog import trusted_catalog
from coterie.settings import load
from coterie.worker.surroundings import workspace_of

TEAM = """
worker:
  agent_packages: [helpers.agents]
  notify: {pager: {run: ["{python}", tools/page.py]}}
llm_config:
  providers: {played: {kind: scripted, answers: answers.yml}}
  personas: {p: {provider: played, model: m, prompts: {user: hello}}}
orchestration:
  entry_team: t
  teams: {t: {tasks: [{name: a, agent_type: generic_single_shot, persona_key: p}]}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "page.py").touch()
    (tmp_path / "team.yml").write_text(TEAM)
    return tmp_path


def test_the_document_of_a_run_and_what_it_names_are_protected(project: Path) -> None:
    settings = load({}, project)
    trusted = compile_target(settings, "team.yml").trusted
    found = {str(path.relative_to(project)) for path in workspace_of(trusted, settings).protected}
    assert found == {
        "coterie.tools.json",
        "coterie.yml",
        ".coterie",
        "config",
        "team.yml",
        "helpers/agents",
        *(f"helpers/agents{suffix}" for suffix in all_suffixes()),
        *(f"helpers/__init__{suffix}" for suffix in all_suffixes()),
        "tools/page.py",
        "answers.yml",
    }


def test_a_root_around_the_workspace_leaves_the_workspace_changeable(project: Path) -> None:
    settings = load({"COTERIE_CONFIG": str(project)}, project)
    trusted = trusted_catalog(settings, Catalog(settings), None)
    found = {
        path.relative_to(project).as_posix() for path in workspace_of(trusted, settings).protected
    }
    assert found >= {"system_config.yml", "teams", "personas"}
    assert "." not in found
    assert "config" not in found


def test_compiled_code_beside_a_trusted_module_is_protected(project: Path) -> None:
    (project / "helpers").mkdir()
    (project / "helpers" / "agents.py").touch()
    settings = load({}, project)
    workspace = workspace_of(compile_target(settings, "team.yml").trusted, settings)
    assert project / "helpers" / "__pycache__" in workspace.protected


def test_a_program_that_path_finds_in_the_workspace_is_protected_with_its_environment(
    project: Path,
) -> None:
    program = project / ".venv" / "bin" / "page-people"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    (project / ".venv" / "pyvenv.cfg").touch()
    (project / "team.yml").write_text(TEAM.replace('["{python}", tools/page.py]', "[page-people]"))
    settings = load({"PATH": f"{program.parent}:/usr/bin"}, project)
    workspace = workspace_of(compile_target(settings, "team.yml").trusted, settings)
    assert {program, project / ".venv"} <= set(workspace.protected)
