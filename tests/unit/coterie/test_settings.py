"""The environment, read once: a project is found, a wrong value is named, secrets stay hidden."""

from pathlib import Path

import pytest

from coterie.failures import CommandError
from coterie.server.connection import tls_of
from coterie.settings import load, state_folder


@pytest.mark.parametrize("mark", [".coterie/", "coterie.yml", "system_config.yml", ".git/"])
def test_the_nearest_marked_folder_is_the_project(tmp_path: Path, mark: str) -> None:
    below = tmp_path / "project" / "a" / "b"
    below.mkdir(parents=True)
    place = tmp_path / "project" / mark
    place.mkdir() if mark.endswith("/") else place.touch()
    assert load({}, below).project == tmp_path / "project"
    (below.parent / "coterie.yml").touch()
    assert load({}, below).project == below.parent


def test_without_a_mark_the_current_folder_is_the_project(tmp_path: Path) -> None:
    settings = load({}, tmp_path)
    assert settings.project == tmp_path
    assert settings.state == tmp_path / ".coterie"
    assert not settings.state.exists(), "looking makes nothing"


def test_an_own_config_folder_is_a_root_and_a_named_one_replaces_it(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "third").mkdir()
    assert load({}, tmp_path).config_roots == (tmp_path / "config",)
    named = load({"COTERIE_CONFIG": f"other:{tmp_path / 'third'}"}, tmp_path)
    assert named.config_roots == (tmp_path / "other", tmp_path / "third")


def test_defaults_are_the_embedded_server_and_the_shared_queue(tmp_path: Path) -> None:
    settings = load({}, tmp_path)
    assert (settings.address, settings.namespace, settings.task_queue) == (
        None,
        "default",
        "coterie",
    )
    assert settings.tls is False
    assert settings.color is True
    assert load({"NO_COLOR": "1"}, tmp_path).color is False


def test_an_api_key_means_tls_unless_that_is_denied(tmp_path: Path) -> None:
    assert load({"COTERIE_API_KEY": "k"}, tmp_path).tls is True
    assert load({"COTERIE_API_KEY": "k", "COTERIE_TLS": "false"}, tmp_path).tls is False
    assert tls_of(load({"COTERIE_TLS": "true"}, tmp_path)) is not False


def test_certificates_are_read_from_their_files(tmp_path: Path) -> None:
    for name in ("ca", "cert", "key"):
        (tmp_path / name).write_text(f"the {name}")
    env = {
        "COTERIE_TLS": "1",
        **{f"COTERIE_TLS_{name}": str(tmp_path / name.lower()) for name in ("CA", "CERT", "KEY")},
    }
    tls = tls_of(load(env, tmp_path))
    assert not isinstance(tls, bool)
    assert tls.server_root_ca_cert == b"the ca"
    assert (tls.client_cert, tls.client_private_key) == (b"the cert", b"the key")
    (tmp_path / "key").unlink()
    with pytest.raises(CommandError, match=r"could not read the TLS file .*key"):
        tls_of(load(env, tmp_path))


def test_secrets_are_not_in_what_is_printed(tmp_path: Path) -> None:
    settings = load({"COTERIE_API_KEY": "s3cret", "OPENAI_API_KEY": "s3cret"}, tmp_path)
    assert "s3cret" not in repr(settings)
    assert settings.secret("OPENAI_API_KEY") == "s3cret"
    assert settings.secret("ANTHROPIC_API_KEY") is None


def test_a_folder_that_cannot_be_written_is_a_persons_affair(tmp_path: Path) -> None:
    (tmp_path / ".coterie").write_text("a file")
    with pytest.raises(CommandError, match="could not write"):
        state_folder(load({}, tmp_path))
