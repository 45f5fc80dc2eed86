"""What stands before the first hunk of a diff: which file it is for, and what it asks for."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

_PREAMBLE = re.compile(
    r"^(diff --git |index [0-9a-f]+|old mode |new mode |new file mode |deleted file mode "
    r"|(dis)?similarity index |Index: |={3,}\s*$)"
)
_NOWHERE = ("/dev/null", "dev/null")
_UNSUPPORTED = {
    "rename from ": "renames a file; write one change that deletes and one that creates",
    "copy from ": "copies a file; write a change that creates it with its whole content",
    "Binary files ": "is of a binary file, which cannot be changed by a diff",
    "GIT binary patch": "is of a binary file, which cannot be changed by a diff",
}


class DiffProblem(Exception):
    """A diff cannot be read or has no place; the message is a clause, without the file's name."""


@dataclass(frozen=True, slots=True)
class DiffHeader:
    """The header of a diff; a diff need not have one."""

    present: bool
    creates: bool
    """There was no file before."""
    deletes: bool
    """There is no file afterwards."""
    executable: bool | None
    """What the mode line asks for; None without one."""


def read_header(lines: list[str], file_path: str) -> tuple[DiffHeader, list[str]]:
    """The header, and the lines after it.

    Raises:
        DiffProblem: the diff is for another file, or asks for more than lines.
    """
    at = _end(lines)
    header = lines[:at]
    for line in header:
        for start, why in _UNSUPPORTED.items():
            if line.startswith(start):
                raise DiffProblem(f"the diff {why}")
    paths = {line[:3]: _path(line) for line in header if line.startswith(("--- ", "+++ "))}
    for path in paths.values():
        if not names_file(path, file_path):
            raise DiffProblem(f"the diff is for another file, {path!r}")
    found = DiffHeader(
        present=bool(header),
        creates=paths.get("---") in _NOWHERE,
        deletes=paths.get("+++") in _NOWHERE,
        executable=_executable(header),
    )
    return found, lines[at:]


def is_file_header(lines: list[str], at: int) -> bool:
    """Do two lines name the old and the new file here?"""
    return lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


def names_file(header_path: str, file_path: str) -> bool:
    """Can a path of a header be this file? Prefixes `a/`, `b/` and roots may differ."""
    if header_path in _NOWHERE:
        return True
    said = [part for part in PurePosixPath(header_path).parts if part != "/"]
    meant = list(PurePosixPath(file_path).parts)
    if said[:1] in (["a"], ["b"]) and len(said) > 1 and said != meant:
        said = said[1:]
    shared = min(len(said), len(meant))
    return shared > 0 and said[-shared:] == meant[-shared:]


def _end(lines: list[str]) -> int:
    """Where the header ends."""
    at = _talk(lines)
    while at < len(lines):
        if is_file_header(lines, at):
            at += 2
        elif (
            _PREAMBLE.match(lines[at])
            or lines[at].startswith(tuple(_UNSUPPORTED))
            or (at and not lines[at].strip())
        ):
            at += 1
        else:
            break
    return at


def _talk(lines: list[str]) -> int:
    """How many lines of talk stand before the names of the files."""
    for at, line in enumerate(lines):
        if is_file_header(lines, at) and lines[at + 2 : at + 3] and lines[at + 2][:2] == "@@":
            return at
        if line.startswith(("+", "-", "@", " ")):
            break
    return 0


def _path(line: str) -> str:
    return line[4:].split("\t")[0].strip().strip('"`')


def _executable(header: list[str]) -> bool | None:
    for line in header:
        if line.startswith(("new file mode ", "new mode ")):
            return line.split()[-1].endswith("755")
    return None
