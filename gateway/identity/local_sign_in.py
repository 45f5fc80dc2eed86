"""Sign the local user in by a one-time link, as Jupyter does, but with a code that works once.

The code stands in the fragment of the link: browsers send that to nobody, so it is in no log, no
`Referer` and no preview of the link. The page that the link opens posts it.
"""

import secrets
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from coterie.activities.os_errors import reason_of
from coterie.activities.workspace.project_files import write_private
from coterie.failures import CommandError
from coterie.gateway.identity.console_address import HOST_FILE
from coterie.gateway.identity.sealed_values import KEY_BYTES, SealKeys, written_key, written_keys
from coterie.gateway.identity.session_cookies import PersonSession, local_session
from coterie.gateway.identity.sign_in_failures import SignInFailure
from coterie.settings import Settings, state_folder

OPEN = "/open"
CODE_LIFE = 600.0
_MAX_CODES = 100
_KEYS_FILE = "session_keys"


class LocalSignIn:
    """One-time codes of one gateway, for the user who started it."""

    def __init__(self, user: str, clock: Callable[[], float]) -> None:
        """Take the user's login name, and what tells seconds since the epoch."""
        self._user = user
        self._clock = clock
        self._codes: dict[str, float] = {}
        """`{digest: when it expires}`, oldest first."""

    def link(self, origin: str) -> str:
        """Return a link that signs in once, within ten minutes."""
        code = secrets.token_urlsafe(32)
        while len(self._codes) >= _MAX_CODES:
            del self._codes[next(iter(self._codes))]
        self._codes[_digest(code)] = self._clock() + CODE_LIFE
        return f"{origin}{OPEN}#{code}"

    def sign_in(self, code: str) -> PersonSession:
        """Return the session for a code, which counts no longer.

        Raises:
            SignInFailure: It was used, is old, or was never given.
        """
        expires = self._codes.pop(_digest(code), 0.0)
        if expires <= self._clock():
            raise SignInFailure(
                "old_link",
                "this link was used or is old",
                "Print a new one with `coterie serve`.",
            )
        return local_session(self._user, self._clock())


def local_host(settings: Settings) -> str:
    """Return the project's own host of this machine, such as `coterie-7f3a91c2.localhost`.

    Cookies do not separate ports: other programs on 127.0.0.1 would get ours, and this name is ours
    alone.

    Raises:
        CommandError: The project's folder cannot be written.
    """
    name = _read_or_make(settings, HOST_FILE, lambda: secrets.token_hex(4))
    if not (name.isascii() and name.isalnum() and len(name) <= 32):
        name = sha256(name.encode()).hexdigest()[:8]
    return f"coterie-{name}.localhost"


def project_keys(settings: Settings) -> SealKeys:
    """Return the keys of sessions that the project keeps: so they outlive a gateway.

    Raises:
        CommandError: The project's folder cannot be written, or the file has no keys.
    """
    text = _read_or_make(settings, _KEYS_FILE, lambda: written_key(secrets.token_bytes(KEY_BYTES)))
    return SealKeys(written_keys(text, str(settings.state / _KEYS_FILE)))


def _read_or_make(settings: Settings, name: str, make: Callable[[], str]) -> str:
    """Return what a private file of the project has; write it at first."""
    file: Path = state_folder(settings) / name
    try:
        if not file.exists():
            write_private(file, f"{make()}\n")
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else "it is not UTF-8"
        raise CommandError(f"could not read or write {file}: {reason}") from None


def _digest(code: str) -> str:
    return sha256(code.encode(errors="replace")).hexdigest()
