"""The page of HTTP APIs, executed: its files, its commands, its output; and a changed document."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from coterie.cli import main
from coterie.settings import LISTINGS_FILE
from tests.law.documents.pages import text

Ran = Callable[..., tuple[int, str]]


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ran:
    """Runs a command in a folder with the files of the page."""
    blocks = re.findall(r"```yaml\n# (\S+)\n(.*?)```", text("api-tools.md"), re.DOTALL)
    assert tuple(name for name, _ in blocks) == ("coterie.yml", "shop.yaml", "team.yml")
    for name, content in blocks:
        (tmp_path / name).write_text(f"# {name}\n{content}")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str]:
        code = main([*arguments])
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


def test_the_page_does_what_it_says(ran: Ran, tmp_path: Path) -> None:
    code, said = ran("validate", "team.yml")
    assert (code, said.count("E509")) == (2, 3)
    (shown,) = re.findall(r"```text\n(.*?)```", text("api-tools.md"), re.DOTALL)
    assert ran("tools", "refresh") == (1, shown)
    assert ran("validate", "team.yml") == (0, "team.yml: no problems\n")
    assert "made of   api shop/getOrder" in ran("tools", "show", "look", "--of", "team.yml")[1]
    recorded = (tmp_path / LISTINGS_FILE).read_text()
    document = (tmp_path / "shop.yaml").read_text()
    (tmp_path / "shop.yaml").write_text(document.replace("/orders/{id}:", "/purchases/{id}:"))
    code, said = ran("validate", "team.yml")
    assert code == 2
    changed = 'getOrder: request.path: "/orders/{id}" -> "/purchases/{id}"'
    assert f"its document has changed since somebody listed them ({changed})" in said
    code, said = ran("tools", "refresh", "shop")
    assert '  ~ getOrder\n      request.path: "/orders/{id}" -> "/purchases/{id}"\n' in said
    assert ran("validate", "team.yml")[0] == 0
    assert (tmp_path / LISTINGS_FILE).read_text() != recorded


def test_a_document_that_cannot_be_read_is_named_with_its_place(ran: Ran, tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text("openapi: 3.1.0\npaths: {\n")
    code, said = ran("tools", "refresh")
    assert code == 1
    assert said.startswith("shop: not listed: shop.yaml:3:1: E002 ")
    (tmp_path / "shop.yaml").unlink()
    assert "could not read shop.yaml" in ran("tools", "refresh")[1]


def test_a_refresh_names_an_unknown_api(ran: Ran) -> None:
    code, said = ran("tools", "refresh", "shp")
    assert code != 0
    assert "unknown API 'shp'; `worker.apis` has shop. did you mean 'shop'" in said
