"""Which files a worker trusts follows from its own configuration."""

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
        "coterie.mcp.json",
        "coterie.yml",
        ".coterie",
        "config",
        "team.yml",
        "helpers/agents",
        "helpers/agents.py",
        "helpers/__init__.py",
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
