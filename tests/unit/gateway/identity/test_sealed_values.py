"""Sealed cookies: rotation, tampering, purposes."""

import base64

import pytest
from joserfc import jwe, jwt
from joserfc.jwk import OctKey

from coterie.dsl.values import Frozen
from coterie.failures import CommandError
from coterie.gateway.identity.sealed_values import SealKeys, written_key, written_keys

OLD, NEW, STRANGE = bytes(32), bytes([1] * 32), bytes([2] * 32)


class Note(Frozen):
    text: str


NOTE = Note(text="ann")


def test_a_value_opens_while_its_key_is_in_the_list() -> None:
    sealed = SealKeys([OLD]).seal("session", NOTE)
    assert SealKeys([NEW, OLD]).open("session", sealed, Note) == NOTE
    assert SealKeys([NEW]).open("session", sealed, Note) is None


def test_the_first_key_seals() -> None:
    sealed = SealKeys([NEW, OLD]).seal("session", NOTE)
    assert SealKeys([NEW]).open("session", sealed, Note) == NOTE
    assert SealKeys([OLD]).open("session", sealed, Note) is None


def test_a_value_opens_for_its_purpose_alone() -> None:
    sealed = SealKeys([NEW]).seal("sign-in", NOTE)
    assert SealKeys([NEW]).open("session", sealed, Note) is None


def test_a_changed_value_does_not_open() -> None:
    keys = SealKeys([NEW])
    sealed = keys.seal("session", NOTE)
    for place in range(0, len(sealed), 3):
        changed = sealed[:place] + ("A" if sealed[place] != "A" else "B") + sealed[place + 1 :]
        assert keys.open("session", changed, Note) is None


@pytest.mark.parametrize("sealed", [None, "", "a.b.c", "." * 4, "x" * 20_000, "é.é.é.é.é"])
def test_what_is_no_sealed_value_does_not_open(sealed: str | None) -> None:
    assert SealKeys([NEW]).open("session", sealed, Note) is None


def test_values_under_other_algorithms_do_not_open() -> None:
    keys, key = SealKeys([NEW]), OctKey.import_key(NEW)
    key_id = keys.seal("session", NOTE)
    (header, *_) = key_id.split(".")
    assert b'"enc":"A256GCM"' in base64.urlsafe_b64decode(header + "==")
    signed = jwt.encode({"alg": "HS256", "typ": "session"}, {"text": "ann"}, key)
    assert keys.open("session", signed, Note) is None
    wrapped = jwe.encrypt_compact(
        {"alg": "A256KW", "enc": "A256GCM", "typ": "session"}, NOTE.model_dump_json(), key
    )
    assert keys.open("session", wrapped, Note) is None


def test_keys_are_read_in_both_alphabets_and_errors_do_not_show_them() -> None:
    keys = bytes([255] * 32), NEW
    text = f"{base64.urlsafe_b64encode(keys[0]).decode().rstrip('=')},\n{written_key(keys[1])}"
    assert written_keys(text, "KEYS") == keys
    for wrong in ("", "c2hvcnQ=", f"{written_key(NEW)} c2VjcmV0", "no base64 at all!"):
        with pytest.raises(CommandError, match=r"KEYS has no keys of 32 bytes") as refused:
            written_keys(wrong, "KEYS")
        assert "c2" not in str(refused.value)
