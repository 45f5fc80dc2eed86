"""Tokens of programs: one file with their digests, roles and ends, which all gateways read."""

import hmac
import json
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import Annotated

from filelock import FileLock
from pydantic import Field, ValidationError

from coterie.activities.os_errors import reason_of
from coterie.activities.workspace.project_files import private_folder, write_private
from coterie.dsl.model.sections.access_document import RoleName
from coterie.dsl.values import Frozen
from coterie.failures import CommandError
from coterie.gateway.identity.identity import Grant, Identity, Role
from coterie.text.moments import day_and_clock

PREFIX = "coterie_"
"""Lets people and scanners recognise a token."""
_RANDOM_BYTES = 32
MAX_TOKENS = 1000
MAX_LIFE = 366 * 86_400.0
TOKEN_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


class TokenRecord(Frozen):
    """What the file says of one token; the token itself is nowhere."""

    name: Annotated[str, Field(pattern=TOKEN_NAME)]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """SHA-256: a token has 256 random bits, so a slow digest would protect nothing more."""
    roles: tuple[RoleName, ...] = Field(min_length=1)
    teams: tuple[str, ...] = ("*",)
    created: float
    expires: float

    @property
    def identity(self) -> Identity:
        """Whom the token stands for."""
        grants = (Grant(role=Role(role), teams=team) for role in self.roles for team in self.teams)
        return Identity(
            subject=self.name,
            method="token",
            name=f"token {self.name}",
            approver=f"token {self.name}",  # no person: an `@` or a plain name never equals it
            grants=tuple(grants),
            expires=self.expires,
        )


class TokenTable(Frozen):
    """The whole file."""

    tokens: tuple[TokenRecord, ...] = Field(default=(), max_length=MAX_TOKENS)


def read_tokens(file: Path) -> TokenTable:
    """Return the tokens of a file; none if it does not exist.

    Raises:
        CommandError: It cannot be read, or has another form.
    """
    try:
        return TokenTable.model_validate_json(file.read_bytes(), strict=True)
    except FileNotFoundError:
        return TokenTable()
    except OSError as error:
        raise CommandError(f"could not read {file}: {reason_of(error)}") from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole file"
        raise CommandError(
            f"{file} is not a file of tokens: {where}: {first['msg']}; restore it, or delete it "
            "and create the tokens again"
        ) from None


def create_token(
    file: Path, name: str, roles: Sequence[RoleName], teams: Sequence[str], now: float, life: float
) -> str:
    """Add a token to a file, and return it: nobody can read it again.

    Raises:
        CommandError: The name is taken, the life too long, or the file not readable or writable.
    """
    if not 0 < life <= MAX_LIFE:
        raise CommandError("a token lasts at most 366d; shorten --expires")
    token = PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
    try:
        record = TokenRecord(
            name=name,
            digest=_digest(token),
            roles=tuple(dict.fromkeys(roles)),
            teams=tuple(dict.fromkeys(teams)) or ("*",),
            created=now,
            expires=now + life,
        )
    except ValidationError:
        raise CommandError(
            f"{name!r} is no name of a token; it has at most 64 letters, digits, '.', '_' and '-'"
        ) from None
    with _lock_of(file):
        tokens = [one for one in read_tokens(file).tokens if one.expires > now]
        if any(one.name == name for one in tokens):
            raise CommandError(
                f"there is a token {name!r}; choose another name, or revoke it first: "
                f"coterie tokens revoke {quote(name)}"
            )
        if len(tokens) >= MAX_TOKENS:
            raise CommandError(f"{file} has {MAX_TOKENS} tokens; revoke some")
        _write(file, (*tokens, record))
    return token


def revoke_token(file: Path, name: str) -> TokenRecord:
    """Remove a token from a file; gateways refuse it from their next request on.

    Raises:
        CommandError: There is none of this name, or the file cannot be read or written.
    """
    with _lock_of(file):
        tokens = read_tokens(file).tokens
        found = next((one for one in tokens if one.name == name), None)
        if found is None:
            names = ", ".join(sorted(one.name for one in tokens)) or "none"
            raise CommandError(f"there is no token {name!r}; there are: {names}")
        _write(file, tuple(one for one in tokens if one is not found))
    return found


def _lock_of(file: Path) -> FileLock:
    try:
        if not file.parent.is_dir():
            private_folder(file.parent)
        return FileLock(file.with_name(f".{file.name}.lock"))
    except OSError as error:
        raise CommandError(f"could not write {file}: {reason_of(error)}") from None


def _write(file: Path, tokens: tuple[TokenRecord, ...]) -> None:
    content = TokenTable(tokens=tokens).model_dump(mode="json")
    try:
        write_private(file.resolve(), f"{json.dumps(content, indent=2)}\n")
    except OSError as error:
        raise CommandError(f"could not write {file}: {reason_of(error)}") from None


class TokenFile:
    """The tokens of a file, read again when it changed; also of a mounted secret, a link."""

    def __init__(self, file: Path) -> None:
        """Take the file, which need not exist yet."""
        self._file = file
        self._seen: tuple[int, ...] | None = None
        self._tokens: tuple[TokenRecord, ...] = ()

    def identity(self, token: str, now: float) -> Identity | None:
        """Return whom a token stands for; None if it is unknown, revoked or past its end.

        Raises:
            CommandError: The file cannot be read: then no token counts.
        """
        self._read_changes()
        digest = _digest(token)
        found: TokenRecord | None = None
        for record in self._tokens:  # all of them, so that the time tells nothing
            if hmac.compare_digest(record.digest, digest):
                found = record
        return found.identity if found is not None and now < found.expires else None

    def _read_changes(self) -> None:
        try:
            status = self._file.stat()
            seen = (status.st_ino, status.st_dev, status.st_size, status.st_mtime_ns)
        except OSError:
            seen = ()
        if seen != self._seen:
            self._tokens, self._seen = (), None
            self._tokens = read_tokens(self._file).tokens
            self._seen = seen


def token_lines(tokens: Sequence[TokenRecord], now: float) -> list[tuple[str, ...]]:
    """Return one row for each token: name, roles, teams, and when it ends."""
    return [
        (
            one.name,
            ", ".join(one.roles),
            ", ".join(one.teams),
            "expired" if one.expires <= now else shown_time(one.expires),
        )
        for one in sorted(tokens, key=lambda one: one.name)
    ]


def shown_time(moment: float) -> str:
    """Return a moment in local time, with its zone."""
    return day_and_clock(datetime.fromtimestamp(moment, UTC).isoformat())


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()
