"""Files that runs wrote after they had met text of others: what reads them later is `untrusted`.

The worker keeps the digest of each such content in its state folder, beside the workspace: a copy
of the file, and a file that is moved, have the same digest. A call that may write leaves a mark
while it runs, so that a worker that dies in the middle of it loses nothing: until the call is made
again, each file that has changed since counts.

A call may change thousands of files. Of those beyond a limit only the sizes are kept: then each
file of such a size that has changed since counts, which is some too many and none too few.
"""

import os
import stat
import time
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.workspace.function_base import Workspace
from coterie.activities.workspace.function_failures import FunctionRefusal
from coterie.activities.workspace.project_files import private_folder, private_opener

_FOLDER = "labelled_files"
_CONTENTS = "contents"
_MARKS = "open_calls"
CLOCK_NS = 50_000_000
"""How far the time stamps of a file system may lag behind the clock."""
_DAY_NS = 86_400 * 10**9
"""No call takes so long, with all its attempts: an older mark is of one that never came back."""
MAX_DIGESTS = 2_000
"""Files that one look reads."""
MAX_DIGEST_BYTES = 256 << 20
"""Bytes that one look reads."""


@dataclass(slots=True)
class Digests:
    """What one look at the workspace may still read."""

    files: int = MAX_DIGESTS
    bytes: int = MAX_DIGEST_BYTES

    def digest(self, path: Path, size: int) -> str | None:
        """Return the digest of a file; None if it is too much, or cannot be read."""
        if self.files < 1 or self.bytes < size:
            return None
        self.files -= 1
        self.bytes -= size
        try:
            with path.open("rb") as opened:
                digest = sha256()
                while piece := opened.read(1 << 20):
                    digest.update(piece)
        except OSError:
            return None
        return digest.hexdigest()


@dataclass(slots=True)
class LabelledFiles:
    """The contents that runs wrote after they had met text of others."""

    digests: set[str] = field(default_factory=set[str])
    sizes: set[int] = field(default_factory=set[int])
    """Of these contents: no other file has to be read to know that it is none of them."""
    undigested: dict[int, int] = field(default_factory=dict[int, int])
    """`{size: since when}` of contents without a digest, in ns."""
    since: int | None = None
    """When the oldest call began that may still write, in ns; None if there is none."""
    left: Digests = field(default_factory=Digests)

    def hold(self, path: Path) -> bool:
        """Return whether a file has such a content; also if that cannot be found out."""
        try:
            status = path.lstat()
        except FileNotFoundError:
            return False
        except OSError:
            return True
        size = status.st_size
        if not stat.S_ISREG(status.st_mode):
            return False
        marks = (self.since, self.undigested.get(size))
        if any(mark is not None and status.st_ctime_ns >= mark for mark in marks):
            return True
        return size in self.sizes and self.left.digest(path, size) in (None, *self.digests)


@asynccontextmanager
async def labelling_writes(
    workspace: Workspace, key: str, file: Path | None = None
) -> AsyncGenerator[None]:
    """Keep the digests of all files that change while a call runs, also if it fails.

    The mark of a call that another activity continues stays: what changes between them counts.

    Args:
        workspace: the project.
        key: of the call, the same for all its attempts.
        file: the only one that the call changes; None if it may change any.
    """
    mark = _folder(workspace) / _MARKS / sha256(key.encode()).hexdigest()
    since = await FUNCTION_THREADS.finish(_begin, mark)
    goes_on = False
    try:
        yield
    except FunctionRefusal as refusal:
        goes_on = refusal.asked is not None and refusal.asked.task is not None
        raise
    finally:
        if not goes_on:
            await FUNCTION_THREADS.finish(_end, workspace, mark, since, file)


def any_written(workspace: Workspace) -> bool:
    """Return whether any run has written after it had met text of others."""
    return _folder(workspace).is_dir()


def labelled_files(workspace: Workspace) -> LabelledFiles:
    """Return what is known of the workspace."""
    folder, record = _folder(workspace), LabelledFiles()
    if not folder.is_dir():
        return record
    for mark in sorted((folder / _MARKS).iterdir()):
        since = _since(mark)
        if since is not None and since < time.time_ns() - _DAY_NS:
            _end(workspace, mark, since, None)
        elif since is not None:
            record.since = since if record.since is None else min(since, record.since)
    for line in _lines(folder / _CONTENTS):
        _add(line, record)
    return record


def any_labelled(workspace: Workspace, known: LabelledFiles) -> bool:
    """Return whether any file of the workspace has such a content."""
    return any(known.hold(path) for path in _files(workspace))


def _folder(workspace: Workspace) -> Path:
    return workspace.state_dir / _FOLDER


def _begin(mark: Path) -> int:
    private_folder(mark.parent)
    since = _since(mark)
    if since is None:  # else a worker died in an earlier attempt
        since = time.time_ns() - CLOCK_NS
        _write(mark, str(since))
    return since


def _end(workspace: Workspace, mark: Path, since: int, file: Path | None) -> None:
    _keep_changed(workspace, since, _files(workspace) if file is None else (file,))
    mark.unlink(missing_ok=True)


def _keep_changed(workspace: Workspace, since: int, files: Iterable[Path]) -> None:
    contents, record, digests = _folder(workspace) / _CONTENTS, LabelledFiles(), Digests()
    for line in _lines(contents):
        _add(line, record)
    lines: list[str] = []
    for path in files:
        try:
            status = path.lstat()
        except OSError:
            continue
        size = status.st_size
        if status.st_ctime_ns < since or not size or not stat.S_ISREG(status.st_mode):
            continue
        digest = digests.digest(path, size)
        if digest is None and record.undigested.get(size, since + 1) > since:
            lines.append(f"{size} >{since}")
        elif digest is not None and digest not in record.digests:
            lines.append(f"{size} {digest}")
        else:
            continue
        _add(lines[-1], record)
    if lines:
        _write(contents, "".join(f"\n{line}\n" for line in lines))


def _add(line: str, record: LabelledFiles) -> None:
    """Add a line `size digest` or `size >since`; one that a full disk cut off came again."""
    size, _, what = line.partition(" ")
    if not size.isdigit():
        return
    if what[:1] == ">" and what[1:].isdigit():
        since = int(what[1:])
        record.undigested[int(size)] = min(since, record.undigested.get(int(size), since))
    elif len(what) == sha256().digest_size * 2:
        record.sizes.add(int(size))
        record.digests.add(what)


def _files(workspace: Workspace) -> Iterator[Path]:
    """Yield every file, also those that git ignores: a command reads them."""
    for at, folders, files in os.walk(workspace.root):
        folders[:] = [folder for folder in folders if not _apart(Path(at, folder), workspace)]
        yield from (Path(at, name) for name in files)


def _apart(folder: Path, workspace: Workspace) -> bool:
    return folder.name.casefold() == ".git" or folder == workspace.state_dir


def _since(mark: Path) -> int | None:
    """Return when a call began; None if it has no mark, or its worker died before it was whole."""
    try:
        return int(mark.read_text("ascii"))
    except (FileNotFoundError, ValueError):
        return None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("ascii").splitlines()
    except FileNotFoundError:
        return []


def _write(path: Path, text: str) -> None:
    """Add a text to a file by one write, which no other process interrupts."""
    with open(path, "ab", buffering=0, opener=private_opener) as opened:
        opened.write(text.encode("ascii"))
