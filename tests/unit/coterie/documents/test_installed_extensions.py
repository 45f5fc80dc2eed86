"""Entry points name providers and agent types; the worker's configuration allows packages."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coterie.documents import installed_extensions
from coterie.documents.compilation import compile_target
from coterie.documents.installed_extensions import (
    allowed_paths,
    installed_paths,
    searched_packages,
)
from coterie.dsl.errors import InvalidDocument, Problem
from coterie.failures import CommandError
from coterie.settings import load

TEAM = """
worker: {WORKER}
llm_config:
  default_provider: bird
  default_model: grey
  providers: {bird: {kind: KIND}}
  personas: {voter: {prompts: {user: "Go."}}}
orchestration:
  entry_team: a
  teams: {a: {tasks: [{name: vote, agent_type: TYPE, persona_key: voter}]}}
"""
POINTS = (
    ("parrot", "birds.providers:Parrot", "coterie.providers"),
    ("openai", "birds_openai:Other", "coterie.providers"),
    ("majority", "birds.agents:majority", "coterie.agents"),
    ("flock", "birds.agents:flock", "coterie.agents"),
    ("flock", "sheep.agents:flock", "coterie.agents"),
    ("wings", "birds.tools.wings", "coterie.tools"),
)


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Packages as pip leaves them behind: a folder of metadata on the path."""
    for number, (name, value, group) in enumerate(POINTS):
        metadata = tmp_path / "site" / f"p{number}-1.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: p{number}\nVersion: 1\n")
        (metadata / "entry_points.txt").write_text(f"[{group}]\n{name} = {value}\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    installed_extensions.every_point.cache_clear()
    yield
    monkeypatch.undo()
    installed_extensions.every_point.cache_clear()


def problems(folder: Path, worker: str, kind: str, type: str) -> list[Problem]:
    text = TEAM.replace("WORKER", worker).replace("KIND", kind).replace("TYPE", type)
    (folder / "team.yml").write_text(text)
    try:
        return list(compile_target(load({}, folder), "team.yml").compiled.warnings)
    except InvalidDocument as error:
        return list(error.problems)


ALLOWED = "agent_packages: [birds], provider_packages: [birds.providers]"


@pytest.mark.parametrize(
    ("worker", "kind", "type", "codes"),
    [
        (ALLOWED, "parrot", "majority", []),
        (ALLOWED, '"birds.providers:Any"', '"birds.agents:any"', []),
        (ALLOWED, "parrott", "majority", ["E205"]),
        (ALLOWED, "parrot", "minority", ["E203"]),
        ("", "parrot", "majority", ["W514", "W514"]),
        ("agent_packages: [bird]", "parrot", "majority", ["W514", "W514"]),
        ("provider_packages: [birds]", '"birds.providers:Any"', '"other:any"', ["W514"]),
    ],
)
def test_a_document_may_name_what_its_worker_allows(
    tmp_path: Path, worker: str, kind: str, type: str, codes: list[str]
) -> None:
    assert [one.code for one in problems(tmp_path, worker, kind, type)] == codes


def test_the_fix_names_the_package_and_the_key(tmp_path: Path) -> None:
    found = problems(tmp_path, "", "parrot", "majority")
    kind, type = sorted(found, key=lambda one: one.line)
    assert kind.fix == "add `provider_packages: [birds]` to `worker:` in coterie.yml"
    assert type.fix == "add `agent_packages: [birds]` to `worker:` in coterie.yml"
    assert (kind.line, type.line) == (6, 10)


def test_a_worker_uses_the_names_of_its_packages_alone() -> None:
    assert "parrot" in installed_paths("coterie.providers")
    assert allowed_paths("coterie.providers", (), ()) == {}
    allowed = allowed_paths("coterie.providers", ("birds",), ("openai",))
    assert allowed == {"parrot": "birds.providers:Parrot"}


@pytest.mark.parametrize(
    ("packages", "searched"),
    [
        ((), ()),
        (("sheep",), ("sheep",)),
        (("birds", "sheep"), ("birds.tools.wings", "sheep")),
        (("birds.tools", "birds"), ("birds.tools.wings",)),
        (("bird",), ("bird",)),
    ],
)
def test_only_allowed_packages_are_searched_for_tools(
    packages: tuple[str, ...], searched: tuple[str, ...]
) -> None:
    assert searched_packages(packages) == searched


def test_a_package_cannot_replace_what_coterie_has() -> None:
    with pytest.raises(
        CommandError, match=r"names 'openai' in coterie\.providers, and Coterie has"
    ):
        allowed_paths("coterie.providers", ("birds_openai",), ("openai",))


def test_one_name_of_two_packages_is_refused() -> None:
    with pytest.raises(CommandError, match="are both named 'flock'"):
        allowed_paths("coterie.agents", ("birds", "sheep"), ())
    assert allowed_paths("coterie.agents", ("sheep",), ()) == {"flock": "sheep.agents:flock"}


def test_options_of_a_built_in_kind_have_no_effect(tmp_path: Path) -> None:
    [one] = problems(tmp_path, "", "scripted, options: {a: 1}", "generic_single_shot")
    assert (one.code, "`options` has no effect" in one.message) == ("W517", True)
