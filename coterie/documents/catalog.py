"""Find documents: by the path of a file, or by the name of a team in a config root.

A config root is a folder with `system_config.yml`, `personas/<key>.yml` and `teams/<name>.yml`. The
sources of a document merge in this order, later ones override earlier ones: the root's
`system_config.yml`, its personas, the document, and the project's `coterie.yml`. What a file
includes comes right before it.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import NamedTuple

import coterie.config as config
from coterie.documents.file_kinds import SUFFIXES, is_test
from coterie.documents.includes import included_files, with_includes
from coterie.documents.skill_folders import with_skills
from coterie.dsl.compile.compiler import SourceText
from coterie.dsl.errors import InvalidDocument, listed, nearest, unreadable_file
from coterie.dsl.source.yaml_reader import read
from coterie.dsl.visible import is_unicode
from coterie.settings import OVERRIDE_FILE, SYSTEM_FILE, Settings
from coterie.text.document_text import text_of_document, unreadable_text

_LAYERS = (SYSTEM_FILE, OVERRIDE_FILE)
_SAYS_TEAMS = re.compile(r"\borchestration\b")


class Located(NamedTuple):
    """A document that was found."""

    name: str
    file: Path
    root: Path | None
    """The config root that it belongs to; None for a standalone file."""


class Catalog:
    """The documents that the project and Coterie itself offer by name."""

    def __init__(self, settings: Settings, texts: Mapping[str, str] | None = None) -> None:
        self.settings = settings
        self._texts = texts or {}
        """`{file as problems name it: its text instead of what is stored}`."""
        self.roots = (*settings.config_roots, shipped_root())
        """In search order."""

    def names(self) -> tuple[str, ...]:
        """List every name that can run, sorted."""
        return tuple(sorted({file.stem for root in self.roots for file in _teams(root)}))

    def own(self) -> tuple[Located, ...]:
        """List the documents of the project's own roots, without the shipped ones."""
        return tuple(
            Located(file.stem, file, root)
            for root in self.settings.config_roots
            for file in _teams(root)
        )

    def all(self) -> tuple[Located, ...]:
        """List every document that a name finds."""
        documents = (self.named(name) for name in self.names())
        return tuple(located for located in documents if located is not None)

    def named(self, name: str) -> Located | None:
        """Return the document of this name in the first root that has it."""
        for root in self.roots:
            for file in _teams(root):
                if file.stem == name:
                    return Located(name, file, root)
        return None

    def locate(self, target: str) -> Located:
        """Find the document that a person named: a file by its path, else a team by its name.

        Raises:
            InvalidDocument: Neither exists, or it is a test file.
        """
        path = self.settings.cwd / target
        if path.is_file():
            if is_test(path):
                fix = f"run it with: coterie test {quote(target)}"
                raise _unreadable(target, "is a test file, not a team", fix)
            return Located(path.stem, path, _root_of(path))
        document = self.named(target)
        if document is not None:
            return document
        if path.is_dir():
            raise _unreadable(target, "is a folder", "name a file in it")
        if path.exists():
            raise _unreadable(target, "is not a regular file", "name a YAML file")
        if target.endswith(SUFFIXES) or os.sep in target:
            beside = [str(Path(target).parent / file.name) for file in _documents(path.parent)]
            raise _unreadable(target, "does not exist", nearest(target, beside))
        hint = nearest(target, self.names())
        raise _unreadable(target, "is neither a file nor a team", hint, listed(self.names()))

    def is_folder(self, target: str) -> bool:
        """Return whether the target is a folder and not the name of a team."""
        return (self.settings.cwd / target).is_dir() and self.named(target) is None

    def below(self, target: str) -> tuple[list[Located], int]:
        """List the documents in a folder and its subfolders, by path.

        Returns:
            The documents, and the number of other YAML files: tests, personas, scripts of answers,
            parts that a document includes, and anything else without teams.

        Raises:
            InvalidDocument: There is no document.
        """
        files = sorted(_yaml_files(self.settings.cwd / target))
        documents = _without_parts(
            [file for file in files if not is_test(file) and _is_document(file)]
        )
        if not documents:
            raise _unreadable(
                target,
                "is a folder without documents",
                "name another folder",
                ".yml and .yaml files with the key `orchestration`",
            )
        located = [Located(file.stem, file, _root_of(file)) for file in documents]
        return located, len(files) - len(documents)

    def sources(self, located: Located) -> tuple[SourceText, ...]:
        """Return the sources of a document, in merge order.

        Raises:
            InvalidDocument: A file cannot be read.
        """
        sources = (
            *self.root_sources(located.root, without=located.file),
            *self._with_includes(located.file),
            *self.override(),
        )
        return tuple(map(self._with_text, sources))

    def root_sources(self, root: Path | None, without: Path | None = None) -> Iterator[SourceText]:
        """Yield what every document of a root inherits: its system file and its personas."""
        if root is None:
            return
        yield from self.system_source(root, without)
        for file in _documents(root / "personas"):
            yield self._source(file, persona=file.stem)

    def system_source(self, root: Path, without: Path | None = None) -> Iterator[SourceText]:
        """Yield the root's `system_config.yml`, unless it is the document itself."""
        system = root / SYSTEM_FILE
        if system.is_file() and not _is_same_file(system, without):
            yield from self._with_includes(system)

    def worker_sources(self) -> Iterator[SourceText]:
        """Yield what configures a worker of the shared queue; later files override earlier ones."""
        for root in reversed(self.roots):
            yield from self.system_source(root)
        yield from self.override()

    def override(self) -> Iterator[SourceText]:
        """Yield the project's `coterie.yml`, if it exists and is not empty."""
        file = self.settings.project / OVERRIDE_FILE
        if file.is_file():
            source = self._source(file)
            lines = (line.strip() for line in source.text.splitlines())
            if any(line and not line.startswith("#") for line in lines):
                yield from self._source_with_parts(source._replace(overrides=True), file)

    def file_sources(self, file: Path) -> tuple[SourceText, ...]:
        """Return a file that overrides documents, after what it includes.

        Raises:
            InvalidDocument: It cannot be read.
        """
        source = self._source(file)._replace(overrides=True)
        return tuple(self._source_with_parts(source, file))

    def persona_source(self, file: Path) -> SourceText:
        """Read a persona file.

        Raises:
            InvalidDocument: It cannot be read.
        """
        return self._with_text(self._source(file, persona=file.stem))

    def _with_text(self, source: SourceText) -> SourceText:
        return source._replace(text=self._texts.get(source.file, source.text))

    def shown(self, file: Path) -> str:
        """Format a path for problem reports."""
        return shown(file, self.settings)

    def _with_includes(self, file: Path) -> list[SourceText]:
        return self._source_with_parts(self._source(file), file)

    def _source_with_parts(self, source: SourceText, file: Path) -> list[SourceText]:
        return with_includes(source, file, self.shown, self._with_skills)

    def _with_skills(self, source: SourceText, file: Path) -> SourceText:
        return with_skills(source, file, self.settings.project, self.shown)

    def _source(self, file: Path, persona: str | None = None) -> SourceText:
        if not is_unicode(file.name):
            raise _unreadable(ascii(file.name), "is a name that is not UTF-8", "rename the file")
        try:
            text = text_of_document(file)
        except (OSError, UnicodeDecodeError) as error:
            problem = unreadable_text(error)
            what = f"could not be read: {problem.reason}"
            raise _unreadable(
                shown(file, self.settings), what, problem.fix, at=(problem.line, problem.column)
            ) from None
        source = SourceText(file=shown(file, self.settings), text=text, persona=persona)
        return self._with_skills(source, file)


def shipped_root() -> Path:
    """Return the config root that comes with Coterie."""
    return Path(str(config.__file__)).parent


def shown(file: Path, settings: Settings) -> str:
    """Return a path for messages: relative if it is below the current folder."""
    try:
        return str(file.relative_to(settings.cwd))
    except ValueError:
        return str(file)


def _unreadable(
    file: str, what: str, fix: str, allowed_values: str = "", at: tuple[int, int] = (1, 1)
) -> InvalidDocument:
    return unreadable_file(file, f"{file} {what}", allowed=allowed_values, fix=fix, at=at)


def _root_of(file: Path) -> Path | None:
    """Find the nearest parent folder of a file with a `system_config.yml`."""
    for folder in file.resolve().parents:
        if (folder / SYSTEM_FILE).is_file():
            return folder
    return None


def _teams(root: Path) -> tuple[Path, ...]:
    return _documents(root / "teams")


def _documents(folder: Path) -> tuple[Path, ...]:
    if not folder.is_dir():
        return ()
    return tuple(sorted(f for f in folder.iterdir() if f.suffix in SUFFIXES and not is_test(f)))


def _yaml_files(folder: Path) -> Iterator[Path]:
    """Yield every YAML file below a folder, except in hidden files and folders."""
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (
            Path(here, name)
            for name in names
            if name.endswith(SUFFIXES) and not name.startswith(".")
        )


def _without_parts(documents: list[Path]) -> list[Path]:
    """Leave out files with teams but without an entry, which a document of the list includes."""
    part_files = {part for file in documents for part in included_files(file)}
    return [file for file in documents if file.resolve() not in part_files or _has_entry(file)]


def _has_entry(file: Path) -> bool:
    try:
        tree = read(text_of_document(file), file.name)
    except (InvalidDocument, OSError, UnicodeDecodeError):
        return False  # reported with the document that includes it
    return tree.has(("orchestration", "entry_team"))


def _is_document(file: Path) -> bool:
    """Return whether a file describes teams; unreadable files count.

    Files that only set defaults or overrides may have limits, but no teams.
    """
    try:
        text = text_of_document(file)
        if not _SAYS_TEAMS.search(text):
            return False
        orchestration = read(text, file.name).child("orchestration")
    except InvalidDocument as error:
        return error.problems[0].code != "E004"
    except (OSError, UnicodeDecodeError):
        return True
    if orchestration is None:
        return False
    return file.name not in _LAYERS or orchestration.child("teams") is not None


def _is_same_file(file: Path, other: Path | None) -> bool:
    """Return whether two paths lead to one file, of which the other may not exist."""
    return other is not None and other.exists() and file.samefile(other)
