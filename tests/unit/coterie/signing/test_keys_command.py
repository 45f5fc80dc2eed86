"""`coterie keys`: files that only their owner reads, and certificates that end."""

import json
from argparse import ArgumentParser
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from coterie.commands.operations import keys
from coterie.failures import CommandError, ExitCode
from coterie.settings import Settings, load
from coterie.signing.key_files import KeyFile, read_key
from coterie.signing.own_keys import signer_of
from coterie.signing.signers import Signer


class Keys:
    """The command in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings: Settings = load({}, folder)

    def __call__(self, *words: str) -> None:
        parser = ArgumentParser()
        keys.add_arguments(parser)
        assert keys.run(parser.parse_args(words), self.settings) == ExitCode.DONE

    def key(self, name: str) -> KeyFile:
        return read_key(self.folder / name, root=name.startswith("coterie-root"))


@pytest.fixture
def command(tmp_path: Path) -> Keys:
    made = Keys(tmp_path)
    made("init")
    return made


def test_keys_are_files_of_their_owner_and_the_settings_name_only_the_public_half(
    capsys: pytest.CaptureFixture[str], command: Keys
) -> None:
    command("issue", "--person", "ann")
    root, ann = command.key("coterie-root.key"), command.key("ann.key")
    shown = capsys.readouterr()
    for key in (root, ann):
        private = key.private.get_secret_value()
        assert private not in shown.out + shown.err + repr(key)
    assert {file.stat().st_mode & 0o777 for file in command.folder.glob("*.key")} == {0o600}
    assert f"decisions: {{signed: required, root: {root.public}}}" in shown.out


def test_a_key_is_never_overwritten_and_never_read_where_others_may_read_it(command: Keys) -> None:
    with pytest.raises(CommandError, match="keys are never overwritten"):
        command("init")
    command("issue", "--person", "ann")
    (command.folder / "ann.key").chmod(0o640)
    with pytest.raises(CommandError, match=r"others may read the key .*; run `chmod 600 "):
        signer_of(command.settings, "ann.key")


def test_a_file_that_is_no_key_is_refused_without_its_content(command: Keys) -> None:
    file = command.folder / "coterie-root.key"
    text = json.loads(file.read_text())
    for broken in ("{", json.dumps({**text, "public": text["public"][::-1]}), "[]"):
        file.write_text(broken)
        with pytest.raises(CommandError, match=r"is no key file; `coterie keys` writes them$"):
            command("issue", "--person", "ann")


def test_a_certificate_is_renewed_for_the_same_key_and_holder_only(command: Keys) -> None:
    command("issue", "--person", "ann", "--hours", "1")
    first = command.key("ann.key")
    command("issue", "--person", "ann", "--hours", "2160")
    again = command.key("ann.key")
    assert (again.public, again.certified.subject) == (first.public, "ann")
    ends = datetime.fromisoformat(again.certified.not_after)
    assert ends - datetime.now(UTC) > timedelta(days=89)
    with pytest.raises(CommandError, match="is the key of the person 'ann'"):
        command("issue", "--person", "eve", "--key", "ann.key")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--person", "ann", "--hours", "2161"), "of a person lives at most 2160 hours"),
        (("--gateway", "desk", "--hours", "25"), "of a gateway lives at most 24 hours"),
        (("--gateway", "desk", "--hours", "0"), "of a gateway lives at most 24 hours"),
        ((), "name the holder of the key: --person NAME or --gateway NAME"),
    ],
)
def test_a_certificate_has_a_holder_and_a_short_life(
    command: Keys, words: tuple[str, ...], message: str
) -> None:
    with pytest.raises(CommandError, match=message):
        command("issue", *words)


def test_a_new_root_keeps_the_old_one_for_runs_that_wait(command: Keys) -> None:
    old = command.key("coterie-root.key")
    command("rotate")
    (kept,) = command.folder.glob("coterie-root.key.*")
    assert read_key(kept, root=True) == old
    assert command.key("coterie-root.key").public != old.public


def test_a_gateway_signs_for_verified_people_and_a_person_for_nobody_else(command: Keys) -> None:
    command("issue", "--gateway", "desk")
    command("issue", "--person", "ann")
    desk, ann = command.key("desk.key"), command.key("ann.key")
    assert Signer(desk, subject="ben", method="oidc https://id.example").subject == "ben"
    with pytest.raises(CommandError, match="whom it has verified"):
        Signer(desk)
    with pytest.raises(CommandError, match="signs for 'ann' only"):
        Signer(ann, subject="ben")
    with pytest.raises(CommandError, match="the key of a gateway"):
        signer_of(command.settings, "desk.key")
    with pytest.raises(CommandError, match="a root key signs certificates, and no decisions"):
        Signer(command.key("coterie-root.key"))
