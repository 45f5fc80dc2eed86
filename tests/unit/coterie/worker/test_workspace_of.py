"""What tool functions of a worker may touch and reach is what its configuration says."""

from pathlib import Path

import pytest

from coterie.activities.workspace.command_parameters import Parameter
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.web_access import WebAccess
from coterie.documents.catalog import Catalog
from coterie.documents.trusted_catalog import trusted_catalog
from coterie.dsl.errors import InvalidDocument
from coterie.settings import load
from coterie.worker.surroundings import workspace_of


def workspace(folder: Path, written: str) -> Workspace:
    (folder / "coterie.yml").write_text(written)
    settings = load({}, folder)
    return workspace_of(trusted_catalog(settings, Catalog(settings), None), settings)


def test_a_worker_reaches_nothing_of_the_web_by_default(tmp_path: Path) -> None:
    assert workspace(tmp_path, "worker: {}\n").web == WebAccess(fetch=False, search=False)


def test_the_web_section_reaches_the_functions(tmp_path: Path) -> None:
    written = """
worker:
  web:
    fetch: true
    arxiv: true
    hosts: ["*.python.org"]
    private_hosts: ["wiki.intranet:8080"]
    robots: false
    engines: [mojeek]
"""
    access = workspace(tmp_path, written).web
    assert access == WebAccess(
        fetch=True,
        search=False,
        arxiv=True,
        hosts=("*.python.org",),
        private_hosts=("wiki.intranet:8080",),
        robots=False,
        engines=("mojeek",),
    )
    assert access.may_read("Docs.Python.org.")
    assert access.may_read("wiki.intranet")
    assert not access.may_read("python.org.evil.example")
    assert access.may_be_private("wiki.intranet", 8080)
    assert not access.may_be_private("wiki.intranet", 80)


def test_parameters_of_a_command_reach_the_functions(tmp_path: Path) -> None:
    written = """
worker:
  commands:
    find:
      run: [grep, -e, "{words}", "{limit}"]
      parameters: { words: { pattern: "[a-z]+" }, limit: { type: integer, default: 2 } }
"""
    assert workspace(tmp_path, written).commands["find"].parameters == {
        "words": Parameter("words", pattern="[a-z]+"),
        "limit": Parameter("limit", "integer", default=2),
    }


FOUND = "an argument of `run` has each parameter as `{x}`, alone if it is `many`"


@pytest.mark.parametrize(
    ("written", "column", "allowed"),
    [
        (
            "{web: {fetsch: true}}",
            16,
            "arxiv, engines, fetch, hosts, private_hosts, push_hosts, robots, search",
        ),
        ("{web: {engines: [google]}}", 26, "brave, duckduckgo, grokipedia, mojeek"),
        ("{web: {hosts: ['https://a']}}", 24, "a host or a glob of hosts"),
        ("{web: {private_hosts: [A]}}", 32, "a host in lower case"),
        ("{commands: {a: {run: [b], parameters: {x: {}}}}}", 24, FOUND),
        ("{commands: {a: {run: [b, '{x}'], parameters: {x: {type: f}}}}}", 65, "text, path, url"),
    ],
)
def test_a_mistake_in_these_sections_is_shown_at_its_place(
    tmp_path: Path, written: str, column: int, allowed: str
) -> None:
    with pytest.raises(InvalidDocument) as caught:
        workspace(tmp_path, f"worker: {written}\n")
    (problem,) = caught.value.problems
    assert (problem.file, problem.line, problem.column) == ("coterie.yml", 1, column)
    assert allowed in problem.allowed
