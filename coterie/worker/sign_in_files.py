"""Keep the sign-ins at MCP servers in files of the project, for this user alone."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from filelock import AsyncFileLock, Timeout
from pydantic import ValidationError

from coterie.activities.mcp_client.sign_ins import StoredSignIn
from coterie.activities.mcp_client.token_endpoint import TokenUnavailable
from coterie.activities.os_errors import reason_of
from coterie.activities.workspace.project_files import private_folder, write_private
from coterie.settings import Settings, state_folder

_LOCK_SECONDS = 60.0


class SignInFile:
    """The sign-in at one server."""

    def __init__(self, settings: Settings, server: str) -> None:
        """Take the project, and the name of the server."""
        self._settings = settings
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
