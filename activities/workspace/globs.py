"""Which files are meant: globs of a call, and the project's .gitignore files."""

from collections.abc import Iterable
from dataclasses import dataclass

from pathspec import GitIgnoreSpec

from activities.workspace.skill_base import SkillRefusal

GENERATED = frozenset(
    (
        ".venv",
        "venv",
        "node_modules",
        "__pycache__",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".hypothesis",
        ".tox",
        ".nox",
        ".gradle",
        "build",
        "dist",
        "target",
    )
)
"""Folders of environments, caches and build output: skipped, unless `include` names them."""


@dataclass(frozen=True, slots=True)
class Globs:
    """What a call includes and excludes; globs mean what they mean in a .gitignore."""

    include: GitIgnoreSpec | None
    """None for everything."""
    exclude: GitIgnoreSpec
    generated: frozenset[str] = GENERATED
    """Names of folders that are skipped."""

    @classmethod
    def of(cls, include: tuple[str, ...], exclude: tuple[str, ...]) -> "Globs":
        """Compile.

        Raises:
            SkillRefusal: a glob is malformed.
        """
        return cls(
            include=_compiled("include", include) if include else None,
            exclude=_compiled("exclude", exclude),
            generated=GENERATED - {part for glob in include for part in glob.split("/")},
        )

    def want(self, path: str) -> bool:
        """Is this file meant? The path is relative to the root."""
        if self.exclude.match_file(path):
            return False
        return self.include is None or self.include.match_file(path)

    def enter(self, directory: str) -> bool:
        """Can anything in this directory be meant?"""
        if directory.rpartition("/")[2] in self.generated:
            return False
        return not self.exclude.match_file(f"{directory}/")


@dataclass(frozen=True, slots=True)
class Ignores:
    """The .gitignore files that count in a directory: the deepest that says anything decides."""

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()
    """Directory (`""` for the root, else ending in `/`) and what its file says, root first."""

    def within(self, directory: str, content: bytes | None) -> "Ignores":
        """The same with the .gitignore of a deeper directory, if it has one."""
        if content is None:
            return self
        lines = content.decode(errors="replace").splitlines()
        return Ignores((*self.specs, (directory, _lenient(lines))))

    def ignore(self, path: str) -> bool:
        """Is this path ignored? A directory's ends in `/`."""
        for directory, spec in reversed(self.specs):
            said = spec.check_file(path.removeprefix(directory)).include
            if said is not None:
                return said
        return False


def _compiled(field: str, globs: tuple[str, ...]) -> GitIgnoreSpec:
    for glob in globs:
        try:
            GitIgnoreSpec.from_lines([glob])
        except ValueError as error:
            raise SkillRefusal(f"{field} has a malformed glob, {glob!r}: {error}") from None
    return GitIgnoreSpec.from_lines(globs)


def _lenient(lines: Iterable[str]) -> GitIgnoreSpec:
    """As git does, a malformed line is passed over."""
    good: list[str] = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue
        good.append(line)
    return GitIgnoreSpec.from_lines(good)
