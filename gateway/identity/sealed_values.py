"""Seal values for cookies: encrypted and authenticated, so that a browser keeps what we forget."""

import base64
import binascii
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple, TypeVar

from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey
from pydantic import BaseModel, ValidationError

from coterie.failures import CommandError

KEY_BYTES = 32
_ALGORITHMS = ["dir", "A256GCM"]
_MAX_SEALED = 16_000
"""Characters of a sealed value: more than any cookie of a browser."""

Value = TypeVar("Value", bound=BaseModel)


class SessionKey(NamedTuple):
    """A key with the id that its values carry."""

    id: str
    key: OctKey

    def __repr__(self) -> str:
        return f"SessionKey({self.id!r})"


class SealKeys:
    """The keys of this gateway: the first seals, every one opens.

    So a key is replaced in two steps: put the new one first, and remove the old one when all that
    it sealed has expired.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        """Take keys of 32 bytes, at least one."""
        self._keys = {key.id: key for key in map(_session_key, keys)}
        self._first = next(iter(self._keys.values()))

    def seal(self, purpose: str, value: BaseModel) -> str:
        """Return the value encrypted; it opens for this purpose alone."""
        header = {"alg": "dir", "enc": "A256GCM", "kid": self._first.id, "typ": purpose}
        text = value.model_dump_json(exclude_defaults=True)
        return jwe.encrypt_compact(header, text, self._first.key, _ALGORITHMS)

    def open(self, purpose: str, sealed: str | None, form: type[Value]) -> Value | None:
        """Return the value; None if it was changed, or not sealed by us for this purpose."""
        if not sealed or len(sealed) > _MAX_SEALED:
            return None
        try:
            opened = jwe.decrypt_compact(sealed, self._find_key, _ALGORITHMS)
            if opened.protected.get("typ") != purpose or opened.plaintext is None:
                return None
            return form.model_validate_json(opened.plaintext)
        except (JoseError, ValidationError, ValueError, KeyError, TypeError):
            return None

    def _find_key(self, sealed: object) -> OctKey:
        headers: dict[str, object] = getattr(sealed, "headers")()  # noqa: B009  # untyped there
        return self._keys[str(headers.get("kid"))].key


def _session_key(key: bytes) -> SessionKey:
    return SessionKey(
        sha256(b"coterie session key\0" + key).hexdigest()[:8], OctKey.import_key(key)
    )


def written_keys(text: str, source: str) -> tuple[bytes, ...]:
    """Return the keys that a text has in base64, separated by commas or blanks.

    Raises:
        CommandError: One of them has not 32 bytes, or there is none; names the source alone.
    """
    parts = [part for part in re.split(r"[\s,]+", text) if part]
    try:
        keys = tuple(_decode_key(part) for part in parts)
    except (binascii.Error, ValueError):
        keys = ()
    if not keys or any(len(key) != KEY_BYTES for key in keys):
        raise CommandError(
            f"{source} has no keys of {KEY_BYTES} bytes in base64, separated by commas; make one "
            f"with: openssl rand -base64 {KEY_BYTES}"
        )
    return keys


def _decode_key(part: str) -> bytes:
    standard = part.replace("-", "+").replace("_", "/").rstrip("=")
    return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)


def written_key(key: bytes) -> str:
    """Return a key as `written_keys` reads it."""
    return base64.b64encode(key).decode()
