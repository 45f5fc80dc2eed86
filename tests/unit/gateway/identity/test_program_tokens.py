"""Tokens of programs: shown once, kept as digests, revoked everywhere at once."""

from pathlib import Path

import pytest

from coterie.cli import main
from coterie.failures import CommandError
from coterie.gateway.identity.identity import Role
from coterie.gateway.identity.program_tokens import (
    TokenFile,
    create_token,
    read_tokens,
    revoke_token,
)

DAY = 86_400.0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "tokens.json"


def test_a_token_stands_for_its_roles_until_its_end(file: Path) -> None:
    token = create_token(file, "ci", ["viewer", "starter"], ["pay_*"], 1000.0, DAY)
    tokens = TokenFile(file)
    identity = tokens.identity(token, 1000.0)
    assert identity is not None
    assert (identity.subject, identity.method, identity.approver) == ("ci", "token", "token ci")
    assert [(grant.role, grant.teams) for grant in identity.grants] == [
        (Role.VIEWER, "pay_*"),
        (Role.STARTER, "pay_*"),
    ]
    assert identity.expires == 1000.0 + DAY
    assert tokens.identity(token, 1000.0 + DAY) is None
    assert tokens.identity(token[:-1], 1000.0) is None
    assert tokens.identity("", 1000.0) is None


def test_a_file_has_no_token_and_belongs_to_its_owner(file: Path) -> None:
    token = create_token(file, "ci", ["viewer"], [], 1000.0, DAY)
    assert token not in file.read_text()
    assert token.removeprefix("coterie_") not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600


def test_every_gateway_reads_the_file_again_when_it_changes(file: Path) -> None:
    gateways = TokenFile(file), TokenFile(file)
    assert gateways[0].identity("coterie_x", 1.0) is None  # no file yet
    first = create_token(file, "a", ["viewer"], [], 1000.0, DAY)
    assert all(gateway.identity(first, 1000.0) for gateway in gateways)
    second = create_token(file, "b", ["viewer"], [], 1000.0, DAY)
    revoke_token(file, "a")
    assert [gateway.identity(first, 1000.0) for gateway in gateways] == [None, None]
    assert all(gateway.identity(second, 1000.0) for gateway in gateways)
    file.unlink()
    assert gateways[0].identity(second, 1000.0) is None


def test_a_file_that_is_broken_refuses_every_token(file: Path) -> None:
    token = create_token(file, "a", ["viewer"], [], 1000.0, DAY)
    tokens = TokenFile(file)
    assert tokens.identity(token, 1000.0)
    good = file.read_text()
    file.write_text('{"tokens": [{}]}')
    for _ in range(2):
        with pytest.raises(CommandError, match="is not a file of tokens"):
            tokens.identity(token, 1000.0)
    file.write_text(good)
    assert tokens.identity(token, 1000.0)


def test_a_mounted_secret_is_followed_to_its_newest_file(tmp_path: Path) -> None:
    for version in ("1", "2"):
        (tmp_path / version).mkdir()
    token = create_token(tmp_path / "1" / "tokens.json", "a", ["viewer"], [], 1000.0, DAY)
    (tmp_path / "2" / "tokens.json").write_text('{"tokens": []}')
    (tmp_path / "data").symlink_to("1")
    tokens = TokenFile(tmp_path / "data" / "tokens.json")
    assert tokens.identity(token, 1000.0)
    (tmp_path / "next").symlink_to("2")
    (tmp_path / "next").rename(tmp_path / "data")
    assert tokens.identity(token, 1000.0) is None


@pytest.mark.parametrize(
    ("name", "life", "message"),
    [
        ("a", DAY, "there is a token 'a'; choose another name, or revoke it first"),
        ("a b", DAY, "'a b' is no name of a token"),
        ("", DAY, "'' is no name of a token"),
        ("b", 367 * DAY, "a token lasts at most 366d"),
        ("b", 0.0, "a token lasts at most 366d"),
    ],
)
def test_a_token_that_cannot_be_is_refused(
    file: Path, name: str, life: float, message: str
) -> None:
    create_token(file, "a", ["viewer"], [], 1000.0, DAY)
    with pytest.raises(CommandError, match=message):
        create_token(file, name, ["viewer"], [], 1000.0, life)
    assert [one.name for one in read_tokens(file).tokens] == ["a"]


def test_a_new_token_replaces_one_that_is_past_its_end(file: Path) -> None:
    create_token(file, "a", ["viewer"], [], 1000.0, DAY)
    create_token(file, "a", ["viewer"], [], 1000.0 + DAY, DAY)
    assert len(read_tokens(file).tokens) == 1


def test_the_command_shows_a_token_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "coterie.yml").write_text("access: {tokens: keys/tokens.json}\n")
    assert main(["tokens", "create", "ci", "--role", "viewer", "--expires", "1d"]) == 0
    token = capsys.readouterr().out.strip()
    assert TokenFile(tmp_path / "keys" / "tokens.json").identity(token, 0.0)
    assert main(["tokens", "list"]) == 0
    listed = capsys.readouterr().out
    assert "ci" in listed
    assert token not in listed
    assert main(["tokens", "revoke", "ci"]) == 0
    assert main(["tokens", "revoke", "ci"]) == 2
    assert "there is no token 'ci'; there are: none" in capsys.readouterr().err


def test_the_command_needs_a_name_and_a_role(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["tokens", "create"]) == 2
    assert "`coterie tokens create` needs the NAME" in capsys.readouterr().err
    assert main(["tokens", "create", "ci"]) == 2
    assert "a token needs at least one role: viewer, " in capsys.readouterr().err
