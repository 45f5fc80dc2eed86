"""Keep the sign-ins at MCP servers in files of the project, for this user alone."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

from filelock import AsyncFileLock, Timeout
from pydantic import ValidationError

from coterie.activities.mcp_client.sign_ins import StoredSignIn
from coterie.activities.mcp_client.token_endpoint import TokenUnavailable
from coterie.activities.os_errors import reason_of
from coterie.activities.workspace.project_files import private_folder, write_private
from coterie.dsl.model.sections.safe_addresses import is_safe_url
from coterie.settings import Settings, state_folder

SIGN_IN_PATH: Final = "/mcp-sign-in"
"""Where a gateway signs people in at MCP servers."""
ORIGIN_FILE: Final = "console_origin"
"""In `.coterie`: the address of the gateway that serves the project now."""

_LOCK_SECONDS = 60.0
_MAX_ORIGIN = 1_000


def sign_in_url(server: str, run: str) -> str:
    """Return the path of a gateway at which a person signs in at a server for a run."""
    return f"{SIGN_IN_PATH}/{quote(server, safe='')}?{urlencode({'run': run})}"


class SignInFile:
    """The sign-in at one server."""

    def __init__(self, settings: Settings, server: str) -> None:
        """Take the project, and the name of the server."""
        self._settings = settings
        self._server = server
        self.file: Path = settings.state / "mcp" / f"{server}.json"

    def read(self) -> StoredSignIn | None:
        """Return it; None if there is none that can be read."""
        try:
            return StoredSignIn.model_validate_json(self.file.read_bytes())
        except (OSError, ValidationError):
            return None

    def write(self, signed_in: StoredSignIn) -> None:
        """Replace it.

        Raises:
            TokenUnavailable: It cannot be stored.
        """
        try:
            state_folder(self._settings)
            private_folder(self.file.parent)
            write_private(self.file, f"{signed_in.model_dump_json()}\n")
        except OSError as error:
            raise TokenUnavailable(
                f"the sign-in cannot be stored in {self.file}: {reason_of(error)}"
            ) from None

    def page(self) -> str | None:
        """Return the address at which a person signs in by a browser; None if no gateway serves."""
        try:
            with (self._settings.state / ORIGIN_FILE).open(encoding="utf-8") as file:
                origin = file.read(_MAX_ORIGIN).strip()
        except (OSError, UnicodeError):
            return None
        return f"{origin}{SIGN_IN_PATH}/{self._server}" if is_safe_url(origin) else None

    def delete(self) -> bool:
        """Delete it; return whether there was one."""
        try:
            self.file.unlink()
        except FileNotFoundError:
            return False
        return True

    @asynccontextmanager
    async def lock(self) -> AsyncGenerator[None]:
        """Let one process at a time renew it.

        Raises:
            TokenUnavailable: Another one does not end.
        """
        lock = AsyncFileLock(self.file.with_suffix(".lock"), timeout=_LOCK_SECONDS, mode=0o600)
        try:
            await lock.acquire()
        except Timeout:
            raise TokenUnavailable("another process renews the sign-in, and does not end") from None
        except OSError as error:
            raise TokenUnavailable(f"the sign-in cannot be renewed: {reason_of(error)}") from None
        try:
            yield
        finally:
            await lock.release()
