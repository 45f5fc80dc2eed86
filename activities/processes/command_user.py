"""The user as whom commands run where the worker runs as root: the owner of the workspace."""

import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class CommandUser(NamedTuple):
    """An unprivileged user of this machine, and the program that changes to it."""

    uid: int
    gid: int
    setpriv: str

    @property
    def prefix(self) -> tuple[str, ...]:
        """Return the beginning of a command line that runs as this user for good."""
        ids = ("--reuid", str(self.uid), "--regid", str(self.gid), "--clear-groups")
        return (self.setpriv, *ids, "--no-new-privs", "--")

    def may_reach(self, paths: Iterable[Path]) -> bool:
        """Return whether the user may enter every folder on the way to the paths."""
        return self.may_use({folder for path in paths for folder in path.resolve().parents})

    def may_use(self, paths: Iterable[Path]) -> bool:
        """Return whether the user may enter every folder, and read every file, of the paths."""
        return all(self._may_use(path) for path in paths)

    def _may_use(self, path: Path) -> bool:
        status = path.stat()
        whose = 6 if status.st_uid == self.uid else 3 if status.st_gid == self.gid else 0
        permission = stat.S_IXOTH if stat.S_ISDIR(status.st_mode) else stat.S_IROTH
        return bool(status.st_mode >> whose & permission)


def command_user(workspace: Path, path: str) -> CommandUser | None:
    """Return the owner of a workspace, if the worker is root and the owner is somebody else.

    Args:
        workspace: The folder.
        path: Where the program `setpriv` is searched; without it, there is nobody else.
    """
    if os.geteuid() != 0 or not workspace.is_dir():
        return None
    owner, setpriv = workspace.stat(), shutil.which("setpriv", path=path)
    if owner.st_uid == 0 or setpriv is None:
        return None
    return CommandUser(owner.st_uid, owner.st_gid or owner.st_uid, setpriv)
