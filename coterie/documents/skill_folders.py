"""Read the folders of agent skills that a document names: bounded, and never outside its project.

An entry of `agent_skills` is a folder, relative to the file that has it: one skill with a SKILL.md,
or a folder of such folders. It stays within the project, also through links.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from stat import S_ISREG

from coterie.dsl.compile.compiler import SourceText
from coterie.dsl.errors import InvalidDocument, Problem, unreadable_file
from coterie.dsl.model.agent_skills import (
    MAIN_FILE,
    MAX_SKILL_FILES,
    MAX_SKILL_TEXT,
    MAX_SKILLS,
    AgentSkill,
    SkillFile,
    SkillFolder,
)
from coterie.dsl.source.nodes import Node
from coterie.dsl.source.skill_files import read_skill
from coterie.dsl.source.yaml_reader import read
from coterie.dsl.visible import visible_name
from coterie.text.document_text import text_of_document, unreadable_text

_KEY = "agent_skills"
_MAX_ENTRIES = 2_000
"""Files and folders that one entry may look at."""
_MAX_DEPTH = 5
"""Folders within a skill."""
_LEFT_OUT = frozenset({"__pycache__", "node_modules"})


def with_skills(
    source: SourceText, file: Path, project: Path, shown: Callable[[Path], str]
) -> SourceText:
    """Return the source with the agent skills that it names.

    Args:
        source: The text of the file.
        file: Where it is.
        project: The folder out of which no entry leads, if the file is below it.
        shown: Formats a path for messages.
    """
    if _KEY not in source.text:
        return source
    try:
        tree = read(source.text, source.file)
    except InvalidDocument:
        return source  # reported with the document
    folder = file.parent.resolve()
    root = project.resolve() if folder.is_relative_to(project.resolve()) else folder
    entries = sorted(set(_entries(tree)))
    return source._replace(
        skills={entry: _read_entry(entry, folder, root, shown) for entry in entries}
    )


def _entries(node: Node) -> Iterator[str]:
    """Yield what any `agent_skills` of a document names."""
    for key, below in node.entries().items():
        if key == _KEY:
            named = below.items() if isinstance(below.value, list) else [below]
            yield from (item.value for item in named if isinstance(item.value, str))
        yield from _entries(below)
    for item in node.items():
        yield from _entries(item)


class _Unusable(Exception):
    """A folder gives no skills; the second argument is the fix."""


def _read_entry(entry: str, base: Path, root: Path, shown: Callable[[Path], str]) -> SkillFolder:
    try:
        return _Reader(root, shown).read(entry, base)
    except _Unusable as error:
        reason, fix = error.args
        return SkillFolder(unusable=reason, fix=fix)
    except OSError as error:
        return SkillFolder(unusable=f"could not be read: {unreadable_text(error).reason}")


@dataclass(slots=True)
class _Reader:
    """Reads one entry."""

    root: Path
    shown: Callable[[Path], str]
    searched: int = 0
    problems: list[Problem] = field(default_factory=list[Problem])

    def read(self, entry: str, base: Path) -> SkillFolder:
        """Read the skills of an entry."""
        if not entry.strip() or "\0" in entry or "://" in entry or entry.startswith(("/", "~")):
            raise _Unusable("is not a folder within the project", "write a path like skills")
        folder = self._inside(base / entry)
        if not folder.is_dir():
            raise _Unusable("is not a folder", "write the path relative to this file")
        if (folder / MAIN_FILE).is_file():
            found = [folder]
        else:
            found = [path for path in self._list_entries(folder) if (path / MAIN_FILE).is_file()]
        if not found:
            raise _Unusable(
                f"has no {MAIN_FILE}, and no folder in it has one",
                f"put each skill into a folder of its own: {entry.rstrip('/')}/NAME/{MAIN_FILE}",
            )
        if len(found) > MAX_SKILLS:
            raise _Unusable(f"has {len(found)} skills, and {MAX_SKILLS} are allowed", "divide it")
        skills = [self._skill(self._inside(path), path.name) for path in found]
        return SkillFolder(
            tuple(skill for skill in skills if skill is not None), tuple(self.problems)
        )

    def _inside(self, path: Path) -> Path:
        real = path.resolve()
        if not real.is_relative_to(self.root):
            raise _Unusable("leads out of the project", "copy the folder into the project")
        return real

    def _list_entries(self, folder: Path) -> list[Path]:
        """List what a folder shows, sorted."""
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
        self.searched += len(names)
        if self.searched > _MAX_ENTRIES:
            raise _Unusable(
                f"has more than {_MAX_ENTRIES:,} files and folders", "name a smaller folder"
            )
        return [
            folder / name for name in names if not name.startswith(".") and name not in _LEFT_OUT
        ]

    def _skill(self, folder: Path, name: str) -> AgentSkill | None:
        main = folder / MAIN_FILE
        shown = self.shown(main)
        files = dict(self._files(folder, PurePosixPath(), name))
        try:
            if main.stat().st_size > MAX_SKILL_TEXT:
                why = f"{shown} has more than {MAX_SKILL_TEXT:,} bytes"
                fix = "move details into files beside it"
                raise unreadable_file(shown, why, fix=fix)
            text = text_of_document(self._inside(main))
        except InvalidDocument as error:
            self.problems += error.problems
            return None
        except UnicodeDecodeError as error:
            unread = unreadable_text(error)
            what, at = f"{shown} could not be read: {unread.reason}", (unread.line, unread.column)
            self.problems += unreadable_file(shown, what, fix=unread.fix, at=at).problems
            return None
        skill = read_skill(text, shown, name)
        self.problems += skill.problems
        if skill.head is None:
            return None
        body = SkillFile(size=len(skill.body.encode()), text=skill.body)
        return AgentSkill(
            name=skill.head.name,
            description=skill.head.description,
            compatibility=skill.head.compatibility,
            allowed_tools=skill.head.allowed_tools,
            files={MAIN_FILE: body, **files},
            file=shown,
        )

    def _files(
        self, folder: Path, below: PurePosixPath, skill: str
    ) -> Iterator[tuple[str, SkillFile]]:
        """Yield the files beside SKILL.md, by their paths within the skill."""
        for count, path in enumerate(self._files_below(folder, below), 1):
            if count > MAX_SKILL_FILES:
                raise _Unusable(
                    f"has the skill {skill!r} with more than {MAX_SKILL_FILES} files",
                    "remove files that the skill does not need",
                )
            yield path.as_posix(), _file(self._inside(folder / path))

    def _files_below(self, folder: Path, below: PurePosixPath) -> Iterator[PurePosixPath]:
        for path in self._list_entries(folder / below):
            own = below / path.name
            if visible_name(path.name) != path.name:
                raise _Unusable(
                    f"has a file with control characters in its name: {visible_name(path.name)}",
                    "rename it",
                )
            if path.is_dir():
                self._inside(path)
                if len(own.parts) > _MAX_DEPTH:
                    raise _Unusable(f"is deeper than {_MAX_DEPTH} folders", "move the files up")
                yield from self._files_below(folder, own)
            elif own.as_posix() != MAIN_FILE:
                yield own


def _file(path: Path) -> SkillFile:
    """Read a file; a large one, or one that is not a text, has only its size."""
    status = path.stat()
    if not S_ISREG(status.st_mode) or status.st_size > MAX_SKILL_TEXT:
        return SkillFile(size=status.st_size)
    data = path.read_bytes()[: MAX_SKILL_TEXT + 1]
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return SkillFile(size=len(data))
    return SkillFile(size=len(data), text=None if "\0" in text else text.removeprefix("\ufeff"))
