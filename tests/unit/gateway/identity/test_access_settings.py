"""`access` of coterie.yml: what it may say, and where."""

from pathlib import Path

import pytest

from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located
from coterie.dsl.errors import InvalidDocument, Problem
from coterie.gateway.identity.access_settings import load_access
from coterie.settings import load


def problems_of(folder: Path, text: str) -> list[Problem]:
    (folder / "coterie.yml").write_text(text)
    with pytest.raises(InvalidDocument) as refused:
        load_access(load({}, folder))
    return list(refused.value.problems)


def test_a_project_without_access_grants_nothing(tmp_path: Path) -> None:
    (tmp_path / "coterie.yml").write_text("worker: {accept_plans: false}\n")
    access = load_access(load({}, tmp_path))
    assert (access.oidc, access.grants, access.proxies) == (None, (), ())


@pytest.mark.parametrize(
    ("line", "code", "path", "allowed"),
    [
        ("public_url: http://a.example.com", "E103", "access.public_url", "an https address"),
        ("public_url: https://a.example.com/x", "E103", "access.public_url", "an https address"),
        ("proxies: [10.0.0.1/8]", "E103", "access.proxies[0]", "a network"),
        ("oidc: {issuer: 'http://idp.example', client_id: c}", "E103", "access.oidc.issuer", "an"),
        ("oidc: {issuer: 'https://u:p@idp.org', client_id: c}", "E103", "access.oidc.issuer", "an"),
        (
            "oidc: {issuer: 'https://idp.org', client_id: c, audience: c}",
            "E103",
            "access.oidc",
            "an `audience` other than the `client_id`",
        ),
        ("grants: [{roles: [viewr], groups: [a]}]", "E105", "access.grants[0].roles[0]", "viewer"),
        ("grants: [{roles: [viewer]}]", "E103", "access.grants[0]", "a grant has `groups`"),
        ("grants: [{roles: [], groups: [a]}]", "E106", "access.grants[0].roles", ""),
        ("cookie_keys: abc", "E101", "access.cookie_keys", "grants"),
    ],
)
def test_a_mistake_has_its_code_position_and_fix(
    tmp_path: Path, line: str, code: str, path: str, allowed: str
) -> None:
    (problem,) = problems_of(tmp_path, f"access:\n  {line}\n")
    assert (problem.code, problem.line, problem.path) == (code, 2, path)
    assert allowed in problem.allowed


def test_an_issuer_of_this_machine_may_use_http(tmp_path: Path) -> None:
    text = "access: {oidc: {issuer: 'http://127.0.0.1:9000', client_id: c}}\n"
    (tmp_path / "coterie.yml").write_text(text)
    oidc = load_access(load({}, tmp_path)).oidc
    assert oidc is not None
    assert oidc.issuer == "http://127.0.0.1:9000"


TEAM = """\
access: {grants: [{groups: ["*"], roles: [admin]}]}
orchestration:
  entry_team: a
  teams: {a: {tasks: [{name: pause, type: wait, signal: go, deadline: 5m}]}}
"""


def test_a_document_cannot_say_who_decides_its_requests(tmp_path: Path) -> None:
    (tmp_path / "team.yml").write_text(TEAM)
    settings = load({}, tmp_path)
    catalog = Catalog(settings)
    with pytest.raises(InvalidDocument) as refused:
        compile_located(catalog, catalog.locate("team.yml"))
    assert [(one.code, one.line) for one in refused.value.problems] == [("E601", 1)]
