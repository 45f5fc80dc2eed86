"""Read files of the project as text, and explain why one cannot be read."""

import os
import stat
from pathlib import Path

from coterie.activities.os_errors import reason_of
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.activities.workspace.project_files import NotRegular, directory, read_file, status_of
from coterie.activities.workspace.secret_files import holds_secrets
from coterie.dsl.errors import nearest


def decoded(content: bytes) -> str | None:
    """Return UTF-8 content as text; None for a binary file."""
    if b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def count_lines(text: str) -> int:
    """Return the number of lines; the last one may lack its line end."""
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def readable_file(workspace: Workspace, path: str, maximum: int) -> bytes:
    """Return the content of a file that tool functions may show to a model.

    Args:
        workspace: The project.
        path: Relative to its root.
        maximum: Maximum size in bytes.

    Raises:
        FunctionRefusal: The path leads outside, or names a file that may contain secrets.
        FunctionFailure: It is not a file of this size.
    """
    file = workspace.inside(path)
    relative = file.relative_to(workspace.root).as_posix()
    if holds_secrets(path) or holds_secrets(relative):
        raise FunctionRefusal(f"the path {path!r} names a file that may contain secrets")
    try:
        status = status_of(workspace.root, relative)
        if status is None:
            raise FunctionFailure(
                f"no file exists at {path!r}{_suggest_name(workspace.root, relative)}"
            )
        if stat.S_ISDIR(status.st_mode):
            raise FunctionFailure(f"{path!r} is a folder, not a file")
        if stat.S_ISREG(status.st_mode) and status.st_size > maximum:
            raise FunctionFailure(
                f"{path!r} has {status.st_size} bytes; at most {maximum} can be read"
            )
        return read_file(workspace.root, relative, maximum)
    except NotRegular:
        raise FunctionFailure(f"{path!r} is not a regular file") from None
    except OSError as error:
        raise FunctionFailure(f"{path!r} cannot be read: {reason_of(error)}") from None


def _suggest_name(root: Path, relative: str) -> str:
    """Suggest the nearest name in the same folder."""
    folder, _, name = relative.rpartition("/")
    try:
        with directory(root, folder or ".") as handle:
            hint = nearest(name, os.listdir(handle))
    except OSError:
        return ""
    return f"; {hint}" if hint else ""
