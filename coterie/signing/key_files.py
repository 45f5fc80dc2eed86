"""Key files: a private key, and the certificate of its public half, in a file of one person.

A private key appears in no message, log or `repr`. A file that others may read is refused.
"""

import stat
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import SecretStr, field_serializer

from coterie.activities.os_errors import reason_of
from coterie.activities.workspace.project_files import write_private
from coterie.dsl.values import Frozen
from coterie.failures import CommandError
from coterie.workflows.signatures.statements import Certificate, SignedText

KeyKind = Literal["root", "gateway", "person"]


class KeyFile(Frozen):
    """What a key file holds."""

    coterie_key: KeyKind
    public: str
    """The public key, as base64."""
    private: SecretStr
    """The private key, as base64."""
    certificate: SignedText | None = None
    """Of a gateway or a person: signed by the root."""

    @field_serializer("private")
    def _write(self, private: SecretStr) -> str:
        return private.get_secret_value()

    @property
    def signing_key(self) -> Ed25519PrivateKey:
        """Return the private key for the library."""
        raw = b64decode(self.private.get_secret_value(), validate=True)
        return Ed25519PrivateKey.from_private_bytes(raw)

    @property
    def certified(self) -> Certificate:
        """Return the body of the certificate.

        Raises:
            CommandError: The key has none.
        """
        if self.certificate is None:
            raise CommandError("a root key signs certificates, and no decisions; use another key")
        return Certificate.model_validate_json(self.certificate.body)


def generate(kind: KeyKind) -> KeyFile:
    """Make a key from the machine's randomness."""
    return key_file(kind, Ed25519PrivateKey.generate())


def key_file(kind: KeyKind, key: Ed25519PrivateKey) -> KeyFile:
    """Return the content of the file of a key."""
    public = b64encode(key.public_key().public_bytes_raw()).decode()
    private = b64encode(key.private_bytes_raw()).decode()
    return KeyFile(coterie_key=kind, public=public, private=SecretStr(private))


def read_key(path: Path, *, root: bool = False) -> KeyFile:
    """Read a key file that only its owner may read.

    Args:
        path: The file.
        root: Whether it must be a root key; else it must be the key of a gateway or a person.

    Raises:
        CommandError: Says what is wrong with the file.
    """
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"could not read the key {path}: {reason_of(error)}") from None
    except UnicodeDecodeError:
        raise CommandError(f"{path} is no key file; `coterie keys` writes them") from None
    if stat.S_IMODE(mode) & 0o077:
        raise CommandError(
            f"others may read the key {path}; run `chmod 600 {path}`, and rotate it if they did"
        )
    key = _read(text)
    if key is None:
        raise CommandError(f"{path} is no key file; `coterie keys` writes them")
    if root != (key.coterie_key == "root"):
        wanted = "a root key" if root else "the key of a gateway or a person"
        raise CommandError(f"{path} is not {wanted}, but a {key.coterie_key} key")
    return key


def _read(text: str) -> KeyFile | None:
    """Return the key, if the text is one; an error would quote the private key."""
    try:
        key = KeyFile.model_validate_json(text)
        is_pair = key_file(key.coterie_key, key.signing_key).public == key.public
    except ValueError:
        return None
    has_parts = (key.certificate is None) == (key.coterie_key == "root")
    return key if is_pair and has_parts else None


def write_key(path: Path, key: KeyFile, *, replace: bool = False) -> None:
    """Write a key file that only this user may read.

    Raises:
        CommandError: There is such a file already, or it cannot be written.
    """
    if path.exists() and not replace:
        raise CommandError(f"{path} exists already; keys are never overwritten: name another file")
    try:
        write_private(path, key.model_dump_json(indent=2, exclude_none=True) + "\n")
    except OSError as error:
        raise CommandError(f"could not write the key {path}: {reason_of(error)}") from None
