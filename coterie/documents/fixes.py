"""`validate --fix`: the certain fixes of problems, kept only if nothing new appears."""

import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from difflib import SequenceMatcher, unified_diff
from functools import lru_cache
from pathlib import Path
from shutil import copymode
from typing import NamedTuple

from coterie.documents.catalog import shipped_root
from coterie.dsl.errors import Problem
from coterie.dsl.redaction import redacted
from coterie.dsl.source.text_edits import SourceEdit, WrittenEntries, edited, without_overlaps
from coterie.dsl.source.yaml_events import TextPositions
from coterie.dsl.values import NodePath
from coterie.failures import CommandError
from coterie.text.document_text import text_of_document

Check = Callable[[Mapping[str, str]], Sequence[Problem]]
"""Returns the problems with these texts of files instead of what is stored."""

_MAX_ROUNDS = 50
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")


class Fix(NamedTuple):
    """An edit of one file."""

    file: str
    edit: SourceEdit


class Region(NamedTuple):
    """A part of a text by lines and columns, and what a fix writes there."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class FixedFiles:
    """The files of a call of `validate`, with fixes that are not stored yet."""

    def __init__(self, folder: Path, check: Check, problems: Sequence[Problem]) -> None:
        self._folder = folder
        self._check = check
        self._stored: dict[str, str | None] = {}
        """`{file as problems name it: its text; None if it cannot be edited}`."""
        self.texts: dict[str, str] = {}
        """The new texts."""
        self.problems = problems
        """The problems that remain."""

    def fix(self) -> None:
        """Apply every fix that leaves no new problem."""
        rejected_keys: set[tuple[str, str, NodePath]] = set()
        for _ in range(_MAX_ROUNDS):
            fixes = {
                (problem.code, problem.file, problem.location): fix
                for problem in self.problems
                if (fix := self.of_problem(problem)) is not None
            }
            fixes = {key: fix for key, fix in fixes.items() if key not in rejected_keys}
            if self._apply(list(fixes.values())):
                continue
            for key, fix in fixes.items():
                if self._apply([fix]):
                    break
                rejected_keys.add(key)
            else:
                return

    def of_problem(self, problem: Problem) -> Fix | None:
        """Return the certain fix of a problem; None if there is none."""
        text = None if problem.edit is None else self._text(problem.file)
        edit = None if text is None else _entries(text).edit(problem)
        return None if edit is None else Fix(problem.file, edit)

    def region(self, problem: Problem) -> "Region | None":
        """Return where the fix of a problem replaces text, and by what; None without one."""
        fix = self.of_problem(problem)
        text = None if fix is None else self._text(fix.file)
        if fix is None or text is None:
            return None
        (start, end, new), place = fix.edit, TextPositions(fix.file, text)
        first, last = place.of(start), place.of(end)
        return Region(first.line, first.column, last.line, last.column, new)

    def _text(self, file: str) -> str | None:
        if file in self.texts:
            return self.texts[file]
        if file not in self._stored:
            path = (self._folder / file).resolve()
            self._stored[file] = None
            if not path.is_relative_to(shipped_root()):
                with suppress(OSError, ValueError):
                    self._stored[file] = text_of_document(path).removeprefix("\ufeff")
        return self._stored[file]

    def _apply(self, fixes: Sequence[Fix]) -> bool:
        """Apply edits that do not overlap, all or none; return whether they made only less."""
        texts = dict(self.texts)
        for file in dict.fromkeys(fix.file for fix in fixes):
            edits = without_overlaps(fix.edit for fix in fixes if fix.file == file)
            texts[file] = edited(self._text(file) or "", edits)
        if texts == self.texts:
            return False
        problems = self._check(texts)
        if not _is_better(self.problems, problems):
            return False
        self.texts, self.problems = texts, problems
        return True

    def difference(self) -> str:
        """Return what the fixes change, as a unified diff."""
        lines = [
            line
            for file, text in self.texts.items()
            for line in unified_diff(
                (self._stored[file] or "").splitlines(), text.splitlines(), file, file, lineterm=""
            )
        ]
        return "\n".join(map(redacted, lines))

    def write(self) -> None:
        """Store the new texts: all or none.

        Raises:
            CommandError: A file has changed meanwhile, or cannot be written; then none is.
        """
        drafts: list[tuple[Path, Path, bytes]] = []
        backups: list[tuple[Path, bytes]] = []
        try:
            for file, text in self.texts.items():
                path = (self._folder / file).resolve()
                before = path.read_bytes()
                drafts.append((path, _draft(path, _with_its_line_ends(before, text)), before))
                if text_of_document(path).removeprefix("\ufeff") != self._stored[file]:
                    raise CommandError(f"{file} has changed meanwhile: no file is changed")
            for path, draft, before in drafts:
                draft.replace(path)
                backups.append((path, before))
        except OSError as error:
            for path, before in backups:
                path.write_bytes(before)
            what = f"{error.filename or 'a file'} cannot be written: {error.strerror}"
            raise CommandError(f"{what}; no file is changed") from None
        finally:
            for _, draft, _ in drafts:
                draft.unlink(missing_ok=True)


@lru_cache(maxsize=16)
def _entries(text: str) -> WrittenEntries:
    return WrittenEntries(text)


def _is_better(before: Sequence[Problem], after: Sequence[Problem]) -> bool:
    """Return whether some problems are gone and none is new.

    What the analysis warns of is known only without errors, so it does not count before.
    """
    was_refused = any(problem.severity == "error" for problem in before)
    old, new = (
        Counter(
            (problem.code, problem.file, problem.location)
            for problem in problems
            if not was_refused or problem.severity == "error"
        )
        for problems in (before, after)
    )
    return not new - old and new != old


def _with_its_line_ends(data: bytes, text: str) -> bytes:
    """Return a text as bytes; the lines that it shares with what is stored keep every byte."""
    old_text = data.decode()
    mark = "\ufeff" if old_text.startswith("\ufeff") else ""
    lines = [(match[1], match[2]) for match in _LINE.finditer(old_text.removeprefix("\ufeff"))]
    if len(lines) > 1 and lines[-2][1] == "":
        lines.pop()  # the pattern matches once more at the end
    old, new = [line for line, _ in lines], text.split("\n")
    common = lines[0][1] or "\n"
    ends = [common] * len(new)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for first, second, length in matcher.get_matching_blocks():
        for number in range(length):
            ends[second + number] = lines[first + number][1] or common
    ends[-1] = ""
    return (mark + "".join(map("".join, zip(new, ends, strict=True)))).encode()


def _draft(path: Path, data: bytes) -> Path:
    """Return a file with these bytes beside another one, with its mode."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    copymode(path, name)
    return Path(name)
