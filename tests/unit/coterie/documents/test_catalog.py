"""Documents are found by path or by name, and laid over each other in a written order."""

import os
from pathlib import Path

import pytest

from coterie.argument_values import read_text
from coterie.documents.catalog import Catalog, shipped_root
from coterie.dsl.errors import InvalidDocument
from coterie.settings import Settings, load
from coterie.text.problems import lines_of_file, problems_text


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A project with a root of its own, called from the folder above it."""
    root = tmp_path / "project" / "config"
    for folder in ("teams", "personas"):
        (root / folder).mkdir(parents=True)
    (root / "system_config.yml").write_text("name: system\n")
    (root / "personas" / "b.yml").write_text("description: b\n")
    (root / "personas" / "a.yml").write_text("description: a\n")
    (root / "teams" / "own.yml").write_text("name: own\n")
    (root / "teams" / "development.yml").write_text("name: ours\n")
    (tmp_path / "project" / "coterie.yml").write_text("# nothing\nworker: {workspace: .}\n")
    return load({}, tmp_path / "project")


def names(settings: Settings, target: str) -> list[str]:
    catalog = Catalog(settings)
    return [source.file for source in catalog.sources(catalog.locate(target))]


def test_the_order_is_system_personas_document_and_the_projects_word(settings: Settings) -> None:
    assert names(settings, "own") == [
        "config/system_config.yml",
        "config/personas/a.yml",
        "config/personas/b.yml",
        "config/teams/own.yml",
        "coterie.yml",
    ]


def test_a_persona_file_is_the_persona_of_its_name(settings: Settings) -> None:
    catalog = Catalog(settings)
    sources = catalog.sources(catalog.locate("own"))
    assert [source.persona for source in sources] == [None, "a", "b", None, None]


def test_the_projects_own_team_comes_before_a_shipped_one(settings: Settings) -> None:
    catalog = Catalog(settings)
    assert catalog.locate("development").root == settings.project / "config"
    assert catalog.locate("requirements").root == shipped_root()
    assert {"own", "development", "requirements"} <= set(catalog.names())


def test_a_file_belongs_to_the_nearest_root_above_it(settings: Settings) -> None:
    inner = settings.project / "config" / "teams"
    assert names(settings, "config/teams/own.yml") == names(settings, "own")
    (settings.project / "alone.yml").write_text("name: alone\n")
    assert names(settings, "alone.yml") == ["alone.yml", "coterie.yml"]
    assert Catalog(settings).locate(str(inner / "own.yml")).root == settings.project / "config"


def test_a_system_file_that_is_the_document_itself_comes_once(settings: Settings) -> None:
    files = names(settings, "config/system_config.yml")
    assert files.count("config/system_config.yml") == 1
    assert files[-2:] == ["config/system_config.yml", "coterie.yml"]


def test_a_word_that_says_nothing_is_left_out(settings: Settings) -> None:
    (settings.project / "coterie.yml").write_text("# only a comment\n\n")
    assert "coterie.yml" not in names(settings, "own")


def test_a_name_never_leads_out_of_the_roots(settings: Settings) -> None:
    (settings.project / "secret.yml").write_text("name: secret\n")
    catalog = Catalog(settings)
    assert catalog.named("../../secret") is None
    assert catalog.named("own.yml") is None
    with pytest.raises(InvalidDocument, match="is neither a file nor a team"):
        catalog.locate("ownn")


def test_a_file_that_cannot_be_read_is_a_problem_with_a_code(settings: Settings) -> None:
    (settings.project / "latin.yml").write_bytes("name: \xdf\n".encode("latin-1"))
    catalog = Catalog(settings)
    with pytest.raises(InvalidDocument) as refused:
        catalog.sources(catalog.locate("latin.yml"))
    [problem] = refused.value.problems
    assert (problem.code, problem.file) == ("E001", "latin.yml")
    assert "not UTF-8" in problem.message


@pytest.mark.parametrize("odd", ["pipe", "device"])
def test_a_pipe_or_a_device_among_the_documents_holds_nobody_up(
    settings: Settings, odd: str
) -> None:
    file = settings.project / "config" / "teams" / "odd.yml"
    if odd == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to("/dev/zero")
    catalog = Catalog(settings)
    assert {"own", "odd"} <= set(catalog.names())
    with pytest.raises(InvalidDocument, match="could not be read: it is not a regular file") as one:
        catalog.sources(catalog.locate("odd"))
    assert "odd.yml" in problems_text(one.value.problems, lines_of_file(settings.project))


@pytest.mark.parametrize("odd", ["odd.yml", "odd"])
def test_a_pipe_that_a_person_names_is_not_called_missing(settings: Settings, odd: str) -> None:
    os.mkfifo(settings.project / odd)
    with pytest.raises(InvalidDocument, match=f"{odd} is not a regular file"):
        Catalog(settings).locate(odd)


def test_a_device_without_an_end_is_not_read_to_its_end() -> None:
    with pytest.raises(InvalidDocument, match="/dev/zero has more than 20,000,000 bytes"):
        read_text(Path("/dev/zero"), "/dev/zero")
