"""Read the header of a diff: which file it is for, and which operation it requests."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

_PREAMBLE = re.compile(
    r"^(diff --git |index [0-9a-f]+|old mode |new mode |new file mode |deleted file mode "
    r"|(dis)?similarity index |Index: |={3,}\s*$)"
)
_NOWHERE = ("/dev/null", "dev/null")
_UNSUPPORTED = {
    "rename from ": "renames a file; write one change that deletes it and one that creates it",
    "copy from ": "copies a file; write a change that creates it with its whole content",
    "Binary files ": "is for a binary file, which a diff cannot change",
    "GIT binary patch": "is for a binary file, which a diff cannot change",
}


class DiffProblem(Exception):
    """A diff is unreadable or does not fit; the message is a clause without the file's name."""


@dataclass(frozen=True, slots=True)
class DiffHeader:
    """The header of a diff, which is optional."""

    present: bool
    creates: bool
    """The old file does not exist."""
    deletes: bool
    """The new file does not exist."""
    executable: bool | None
    """What the mode line sets; None without one."""


def read_header(lines: list[str], file_path: str) -> tuple[DiffHeader, list[str]]:
    """Read the header, and return it with the lines after it.

    Raises:
        DiffProblem: The diff is for another file, or does more than change lines.
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
    diff_header = DiffHeader(
        present=bool(header),
        creates=paths.get("---") in _NOWHERE,
        deletes=paths.get("+++") in _NOWHERE,
        executable=_executable(header),
    )
    return diff_header, lines[at:]


def is_file_header(lines: list[str], at: int) -> bool:
    """Return whether two lines at this index name the old and the new file."""
    return lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


def names_file(header_path: str, file_path: str) -> bool:
    """Return whether a header's path can mean this file; `a/`, `b/` and roots may differ."""
    if header_path in _NOWHERE:
        return True
    header_parts = [part for part in PurePosixPath(header_path).parts if part != "/"]
    file_parts = list(PurePosixPath(file_path).parts)
    if header_parts[:1] in (["a"], ["b"]) and len(header_parts) > 1:
        header_parts = header_parts[1:]
    shared = min(len(header_parts), len(file_parts))
    return header_parts[-shared:] == file_parts[-shared:]


def _end(lines: list[str]) -> int:
    """Return the index of the first line after the header."""
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
    """Count the lines of prose before the lines that name the files."""
    for at, line in enumerate(lines):
        below = lines[at + 2 : at + 3]
        if is_file_header(lines, at) and any(next_line.startswith("@@") for next_line in below):
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
