"""Which functions show or change files of the workspace, and for which the worker vouches. Pure.

Others may have written a file: a run that met their text, a checkout, a download. So what is read
from files, git, indexes and the output of commands is `untrusted`, unless `worker.trusted_paths`
matches all that the call may read.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from posixpath import normpath
from typing import Literal

from pydantic import JsonValue

from coterie.dsl.templates.template import is_template

FILE_READERS = ("Files.read", "Files.view")
"""Tool functions that read the one file that their `path` names."""
WORKSPACE_READERS = (
    *FILE_READERS,
    "CommandRunner.run",
    "CommandRunner.run_once",
    "Discovery.collect",
    "Files.list",
    "Files.search",
    "Git.diff",
    "Git.log",
    "Git.status",
    "Retriever.search",
)
"""Tool functions whose results show files of the workspace."""
KEEPERS = ("Git.diff", "Git.log", "Git.status", "Retriever.search")
"""Of these, those that show contents that no file may have any more: of commits and indexes."""
FILE_WRITERS = ("Files.edit", "Files.write")
"""Tool functions that change the one file that their `path` names."""
STATE_WRITERS = ("Cache.put", "Memory.store")
"""Tool functions that change no file of the workspace: what they keep is always `untrusted`."""


Writer = Literal["owner", "others", "known_at_run_time"]
"""Who may have written what a call shows: whom the worker vouches for, or anybody."""


def writer_of_result(function: str, given: JsonValue, trusted_paths: Sequence[str]) -> Writer:
    """Return who may have written what a call of a tool function shows.

    A path that is known only at run time counts there: the worker sees it.
    """
    if function not in WORKSPACE_READERS or vouches_for_all(trusted_paths):
        return "owner"
    path = given.get("path") if isinstance(given, dict) else None
    if function not in FILE_READERS or not trusted_paths:
        return "others"
    if not isinstance(path, str) or is_template(path):
        return "known_at_run_time"
    return "owner" if is_trusted(path, trusted_paths) else "others"


def is_trusted(path: str, trusted_paths: Sequence[str]) -> bool:
    """Return whether the worker vouches for a file, by its path relative to the workspace."""
    plain = normpath(path)
    return not plain.startswith("..") and any(fnmatchcase(plain, glob) for glob in trusted_paths)


def vouches_for_all(trusted_paths: Sequence[str]) -> bool:
    """Return whether one of the globs matches every file."""
    return any(glob and set(glob) == {"*"} for glob in trusted_paths)
