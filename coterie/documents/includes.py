"""Read the files that a document includes: only files below its own folder, and bounded.

An entry of `include` is a path or a glob, relative to the file that has it. It never leads out of
that file's folder, not by `..`, not by a link. A file counts once, even if several include it.
In a glob, `*`, `?` and `[...]` match within a name, and `**` matches any folders.
"""

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from coterie.documents.file_kinds import SUFFIXES, is_persona, is_test
from coterie.dsl.compile.compiler import SourceText
from coterie.dsl.errors import InvalidDocument, listed, nearest
from coterie.dsl.problem_details import Details, ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.source.yaml_reader import read
from coterie.settings import OVERRIDE_FILE, SYSTEM_FILE
from coterie.text.document_text import text_of_document, unreadable_text

MAX_SEARCHED = 20_000
"""Files and folders that one glob may look at."""


class TooManyEntries(Exception):
    """A glob looks at more files than it may."""

    def __init__(self, maximum: int) -> None:
        self.maximum = maximum
        super().__init__(f"more than {maximum} entries")


def is_glob(text: str) -> bool:
    """Return whether an entry is a glob."""
    return any(character in text for character in "*?[")


def matching_files(folder: Path, glob: str, maximum: int = MAX_SEARCHED) -> list[Path]:
    """List the files that match, sorted; hidden ones only where the glob writes their dot.

    Raises:
        TooManyEntries: The glob looks at more than `maximum` files and folders.
    """
    search = _Search(maximum)
    paths = search.below(folder, [part for part in glob.split("/") if part not in ("", ".")])
    return sorted(set(paths))


@dataclass(slots=True)
class _Search:
    maximum: int
    searched: int = 0

    def below(self, folder: Path, segments: Sequence[str]) -> Iterator[Path]:
        """Yield the files below a folder that match the segments."""
        head, *rest = segments
        if head == "**":
            yield from self.below(folder, rest or ["*"])
        for entry in self._entries(folder):
            path = folder / entry.name
            if head == "**":
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    yield from self.below(path, segments)
            elif not _matches(entry.name, head):
                continue
            elif rest and entry.is_dir():
                yield from self.below(path, rest)
            elif not rest and entry.is_file():
                yield path

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                paths = list(entries)
        except OSError:
            return []
        self.searched += len(paths)
        if self.searched > self.maximum:
            raise TooManyEntries(self.maximum)
        return paths


def _matches(name: str, pattern: str) -> bool:
    if name.startswith(".") and not pattern.startswith("."):
        return False
    return fnmatchcase(name, pattern)


MAX_INCLUDED_FILES = 200
"""Of one document, through all levels."""

MAX_INCLUDED_BYTES = 5_000_000
"""Of all files that one document includes."""

_LAYERS = (SYSTEM_FILE, OVERRIDE_FILE)
"""Files that every document has around it, so that no glob means them."""

_SAYS_INCLUDE = re.compile(r"\binclude[\"']?\s*:")


def _add_nothing(source: SourceText, file: Path) -> SourceText:
    return source


def with_includes(
    source: SourceText,
    file: Path,
    shown: Callable[[Path], str],
    complete: Callable[[SourceText, Path], SourceText] = _add_nothing,
) -> list[SourceText]:
    """Return the source after the files that it includes, with the problems of reading them.

    Args:
        source: The text of the file.
        file: Where it is.
        shown: Formats a path for messages.
        complete: Adds what an included file names besides.
    """
    reader = _Reader(shown, [file.resolve()], [source.file], complete)
    reader.read_entries(source, file)
    problems = (*reader.problems.errors, *reader.problems.warnings)
    return [*reader.sources, source._replace(problems=problems)]


def included_files(file: Path) -> set[Path]:
    """Return the resolved files that a document includes, as far as they can be read."""
    try:
        source = SourceText(file.name, text_of_document(file))
    except (OSError, UnicodeDecodeError):
        return set()
    reader = _Reader(str, [file.resolve()], [file.name])
    reader.read_entries(source, file)
    return reader.seen


@dataclass(slots=True)
class _Reader:
    """The files of one document, deepest first."""

    shown: Callable[[Path], str]
    open: list[Path]
    """The files whose includes are being read, outermost first."""
    open_names: list[str]
    """The same, as messages show them."""
    complete: Callable[[SourceText, Path], SourceText] = _add_nothing
    """Adds what an included file names besides."""
    sources: list[SourceText] = field(default_factory=list[SourceText])
    problems: Problems = field(default_factory=Problems)
    seen: set[Path] = field(default_factory=set[Path])
    size: int = 0

    def read_entries(self, source: SourceText, file: Path) -> None:
        """Read what the entries of one file lead to."""
        for number, entry in enumerate(_entries(source)):
            if isinstance(entry.value, str):
                _Entry(self, entry, ("include", number), file).read(entry.value)


def _entries(source: SourceText) -> list[Node]:
    """Return the entries of `include`; a text that cannot be read is reported elsewhere."""
    if source.persona is not None or not _SAYS_INCLUDE.search(source.text):
        return []
    try:
        node = read(source.text, source.file).child("include")
    except InvalidDocument:
        return []
    return [] if node is None else node.items()


@rule("E006")
def include_leaves_folder(entry: str, *, links_to: str = "") -> ProblemText:
    reason = f" is a link to {links_to}, which" if links_to else ""
    return ProblemText(
        f"the include {entry!r}{reason} is outside the folder of this file",
        "a path or a glob below this file's folder: workflows/*.yml",
        "move the file below this folder",
    )


@rule("E006")
def include_missing(entry: str, known: Collection[str]) -> ProblemText:
    return ProblemText(
        f"the include {entry!r} does not exist", listed(known), nearest(entry, known)
    )


@rule("E006")
def include_wrong_file(entry: str, kind: str) -> ProblemText:
    fix = f"write {entry.rstrip('/') or '.'}/*.yml" if kind == "a folder" else "name a document"
    return ProblemText(
        f"the include {entry!r} is {kind}", "files that end in .yml or .yaml, but not tests", fix
    )


@rule("E006")
def include_unreadable(file: str, reason: str, fix: str) -> ProblemText:
    return ProblemText(f"the include {file} could not be read: {reason}", fix=fix)


@rule("E006")
def include_too_large(what: str) -> ProblemText:
    return ProblemText(what, fix="include fewer files")


@rule("W518")
def include_empty(entry: str) -> ProblemText:
    return ProblemText(
        f"no file matches the include {entry!r}", fix="remove it, or correct the glob"
    )


@rule("E007")
def include_cycle(files: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"these files include each other: {' -> '.join(files)}",
        fix="remove one of these includes, or move what both need into a third file",
    )


@dataclass(slots=True)
class _Entry:
    """One entry of `include`."""

    reader: _Reader
    node: Node
    path: tuple[str, int]
    file: Path
    """The file that has it."""

    def read(self, text: str) -> None:
        """Read the file, or all files that the glob matches, in sorted order."""
        if "://" in text or text.startswith(("/", "~")) or ".." in Path(text).parts:
            self._note(include_leaves_folder(text))
            return
        for path in self._glob(text) if is_glob(text) else self._file(text):
            if not self._include(path):
                return

    def _file(self, text: str) -> Iterator[Path]:
        path = self.file.parent / text
        if path.is_dir():
            self._note(include_wrong_file(text, "a folder"))
        elif not path.is_file():
            beside = path.parent.iterdir() if path.parent.is_dir() else ()
            siblings = [
                f"{Path(text).parent / sibling.name}"
                for sibling in beside
                if _can_be_included(sibling)
            ]
            self._note(include_missing(text, siblings))
        elif not _can_be_included(path):
            self._note(include_wrong_file(text, "a test file" if is_test(path) else "no YAML"))
        else:
            yield path

    def _glob(self, text: str) -> list[Path]:
        """Return the documents and personas that match, without the file itself."""
        try:
            matching = matching_files(self.file.parent, text)
        except TooManyEntries as error:
            self._note(include_too_large(f"{text!r} searches more than {error.maximum:,} files"))
            return []
        itself = self.file.resolve()
        paths = [
            path
            for path in matching
            if _can_be_included(path) and path.name not in _LAYERS and path.resolve() != itself
        ]
        if not paths:
            self.reader.problems.report(include_empty(text), Place(self.node.mark, self.path))
        return paths

    def _include(self, path: Path) -> bool:
        """Add a file after the files that it includes; return whether more may follow."""
        reader, real = self.reader, path.resolve()
        name = reader.shown(path)
        if not real.is_relative_to(self.file.parent.resolve()):
            self._note(include_leaves_folder(name, links_to=str(real)))
            return True
        if real in reader.open:
            cycle = [*reader.open_names[reader.open.index(real) :], name]
            reader.problems.report(include_cycle(cycle), Place(self.node.mark, self.path))
            return True
        if real in reader.seen:
            return True
        source = self._source(path, name)
        if source is None:
            return False
        reader.seen.add(real)
        reader.open.append(real)
        reader.open_names.append(name)
        reader.read_entries(source, path)
        reader.open.pop()
        reader.open_names.pop()
        reader.sources.append(source)
        return True

    def _source(self, path: Path, name: str) -> SourceText | None:
        reader = self.reader
        if len(reader.seen) >= MAX_INCLUDED_FILES:
            self._note(include_too_large(f"more than {MAX_INCLUDED_FILES} files are included"))
            return None
        try:
            reader.size += path.stat().st_size
            if reader.size > MAX_INCLUDED_BYTES:
                what = f"the included files have more than {MAX_INCLUDED_BYTES:,} bytes"
                self._note(include_too_large(what))
                return None
            text = text_of_document(path)
        except (OSError, UnicodeDecodeError) as error:
            unread = unreadable_text(error)
            self._note(include_unreadable(name, unread.reason, unread.fix))
            return None
        persona = path.stem if is_persona(path) else None
        source = SourceText(name, text, persona=persona, included=True)
        return reader.complete(source, path)

    def _note(self, details: Details) -> None:
        self.reader.problems.report(details, Place(self.node.mark, self.path))


def _can_be_included(file: Path) -> bool:
    return file.suffix in SUFFIXES and not is_test(file)
