"""`Discovery.collect`: list the files of the project in a manifest, with their contents.

Files that exceed the budget are listed with size and reason, never dropped silently.
"""

import hashlib
from pathlib import Path

from pydantic import Field, TypeAdapter

from coterie.activities.contracts import FailureType
from coterie.activities.threads.run_threads import FUNCTION_THREADS
from coterie.activities.workspace.file_walk import Entry, walk
from coterie.activities.workspace.function_base import FunctionContext, ToolFunction
from coterie.activities.workspace.function_failures import FunctionFailure
from coterie.activities.workspace.globs import Globs
from coterie.activities.workspace.project_files import read_file
from coterie.activities.workspace.text_files import count_lines, decoded
from coterie.dsl.values import Documented

_BYTES_OF_A_TOKEN = 4
"""Approximate, for English and code; other scripts have fewer bytes per token."""


class DiscoveryInput(Documented):
    """What to collect; null collects the whole workspace."""

    path: str = "."
    """A folder or file, relative to the workspace."""
    include: tuple[str, ...] = ()
    """Globs as in a `.gitignore`; empty means all files."""
    exclude: tuple[str, ...] = ()
    """Globs as in a `.gitignore`."""
    max_bytes: int = Field(default=200_000, ge=1)
    """Total bytes of content."""
    max_file_bytes: int = Field(default=100_000, ge=1)
    """Bytes of one file; larger files are left out."""


class FoundFile(Documented):
    """A file of the project."""

    path: str
    """Relative to the workspace."""
    bytes: int
    """Size."""
    lines: int
    """Number of lines; 0 for a binary file."""
    sha256: str
    """Hash of the content."""
    content: str | None = None
    """The text; null for a binary file (any file that is not UTF-8)."""


class LeftOut(Documented):
    """A file that is not in `files`, and why."""

    path: str
    """Relative to the workspace."""
    bytes: int
    """Size."""
    why: str
    """The reason, for people."""


class DiscoveryResult(Documented):
    """What was found."""

    root: str
    """The collected folder or file, relative to the workspace."""
    files: list[FoundFile]
    """Sorted by path."""
    manifest: str
    """One line for each file, including files that are left out."""
    included_bytes: int
    """Total bytes of the contents in `files`."""
    estimated_tokens: int
    """Estimate for the contents in a prompt: one token for each 4 bytes."""
    left_out: list[LeftOut]
    """Files that are not in `files`."""
    complete: bool
    """False if a file was left out because of its size or `max_bytes`, or was unreadable."""


async def collect(value: DiscoveryInput | None, context: FunctionContext) -> DiscoveryResult:
    """Collect files.

    Raises:
        FunctionRefusal: The path leads outside the project, or a glob is malformed.
        FunctionFailure: Nothing exists at the path.
    """
    request = value or DiscoveryInput()
    top = context.workspace.inside(request.path)
    if not top.exists():
        raise FunctionFailure(f"nothing exists at {request.path!r} in the project")
    globs = Globs.of(request.include, request.exclude)
    return await FUNCTION_THREADS.finish(
        _collect, request, top, context.workspace.root, globs, context
    )


def _collect(
    request: DiscoveryInput, top: Path, root: Path, globs: Globs, context: FunctionContext
) -> DiscoveryResult:
    collection = _Collection(request, root)
    for entry in walk(root, top, globs, never=context.workspace.state_dir):
        collection.take(entry)
    return collection.result()


class _Collection:
    """Takes entries in order while they fit the budget."""

    def __init__(self, request: DiscoveryInput, root: Path) -> None:
        self._wanted = request
        self._root = root
        self._files: list[FoundFile] = []
        self._left_out: list[LeftOut] = []
        self._used = 0
        self._complete = True

    def take(self, entry: Entry) -> None:
        if entry.why_not:
            self._leave(entry, entry.why_not, is_gap=entry.is_gap)
            return
        if entry.bytes > self._wanted.max_file_bytes:
            limit = self._wanted.max_file_bytes
            self._leave(entry, f"larger than max_file_bytes ({limit})")
            return
        try:
            content = read_file(self._root, entry.path)
        except OSError as error:
            self._leave(entry, f"cannot be read: {error.strerror}")
            return
        text = decoded(content)
        if text is not None and self._used + len(content) > self._wanted.max_bytes:
            remaining = self._wanted.max_bytes - self._used
            limit = self._wanted.max_bytes
            self._leave(entry, f"over the budget: {remaining} of max_bytes ({limit}) were left")
            return
        self._used += len(content) if text is not None else 0
        self._files.append(
            FoundFile(
                path=entry.path,
                bytes=len(content),
                lines=count_lines(text or ""),
                sha256=hashlib.sha256(content).hexdigest(),
                content=text,
            )
        )

    def result(self) -> DiscoveryResult:
        return DiscoveryResult(
            root=self._wanted.path,
            files=self._files,
            manifest=self._manifest(),
            included_bytes=self._used,
            estimated_tokens=-(-self._used // _BYTES_OF_A_TOKEN),
            left_out=self._left_out,
            complete=self._complete,
        )

    def _leave(self, entry: Entry, why: str, is_gap: bool = True) -> None:
        self._left_out.append(LeftOut(path=entry.path, bytes=entry.bytes, why=why))
        self._complete = self._complete and not is_gap

    def _manifest(self) -> str:
        lines = {
            file.path: f"{file.path}: {file.lines} lines, {file.bytes} bytes"
            if file.content is not None
            else f"{file.path}: binary, {file.bytes} bytes"
            for file in self._files
        }
        lines |= {
            file.path: f"{file.path}: {file.bytes} bytes, left out: {file.why}"
            for file in self._left_out
        }
        return "\n".join(lines[path] for path in sorted(lines))


COLLECT = ToolFunction[DiscoveryInput | None, DiscoveryResult](
    name="Discovery.collect",
    description="Collects files of the project: a manifest and their contents.",
    effect="read",
    input=TypeAdapter(DiscoveryInput | None),
    output=TypeAdapter(DiscoveryResult),
    run=collect,
    timeout=120.0,
    labels=("private",),
    errors={
        FailureType.FUNCTION_REFUSED: (
            "the path leads outside the workspace, or a glob is malformed"
        ),
        FailureType.FUNCTION_FAILED: "nothing exists at the path, or the result exceeds "
        "1,500,000 bytes",
    },
)
