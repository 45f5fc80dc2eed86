"""Select files: by the globs of a call, and the project's .gitignore files."""

from collections.abc import Iterable
from dataclasses import dataclass

from pathspec import GitIgnoreSpec

from coterie.activities.workspace.function_failures import FunctionRefusal

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
"""Folders of environments, caches and build output: skipped unless `include` names them."""


@dataclass(frozen=True, slots=True)
class Globs:
    """The includes and excludes of a call; globs work as in a .gitignore."""

    include: GitIgnoreSpec | None
    """None for everything."""
    exclude: GitIgnoreSpec
    generated: frozenset[str] = GENERATED
    """Names of folders that are skipped."""

    @classmethod
    def of(cls, include: tuple[str, ...], exclude: tuple[str, ...]) -> "Globs":
        """Compile the globs.

        Raises:
            FunctionRefusal: A glob is malformed.
        """
        return cls(
            include=_compile_globs("include", include) if include else None,
            exclude=_compile_globs("exclude", exclude),
            generated=GENERATED - {part for glob in include for part in glob.split("/")},
        )

    def want(self, path: str) -> bool:
        """Return whether this file is selected; the path is relative to the root."""
        if self.exclude.match_file(path):
            return False
        return self.include is None or self.include.match_file(path)

    def enter(self, directory: str) -> bool:
        """Return whether this directory can contain selected files."""
        if directory.rpartition("/")[2] in self.generated:
            return False
        return not self.exclude.match_file(f"{directory}/")


@dataclass(frozen=True, slots=True)
class Ignores:
    """The .gitignore files for a directory; the deepest one with a matching rule decides."""

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()
    """Directory (`""` for the root, else ending in `/`) and its file's rules, root first."""

    def within(self, directory: str, content: bytes | None) -> "Ignores":
        """Return the ignores for a deeper directory, with its .gitignore if it has one."""
        if content is None:
            return self
        lines = content.decode(errors="replace").splitlines()
        return Ignores((*self.specs, (directory, _lenient(lines))))

    def ignore(self, path: str) -> bool:
        """Return whether this path is ignored; a directory's path ends in `/`."""
        for directory, spec in reversed(self.specs):
            verdict = spec.check_file(path.removeprefix(directory)).include
            if verdict is not None:
                return verdict
        return False


def _compile_globs(field: str, globs: tuple[str, ...]) -> GitIgnoreSpec:
    for glob in globs:
        try:
            GitIgnoreSpec.from_lines([glob])
        except ValueError as error:
            raise FunctionRefusal(f"{field} has a malformed glob, {glob!r}: {error}") from None
    return GitIgnoreSpec.from_lines(globs)


def _lenient(lines: Iterable[str]) -> GitIgnoreSpec:
    """Compile the valid lines and skip malformed ones, as git does."""
    good: list[str] = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue
        good.append(line)
    return GitIgnoreSpec.from_lines(good)
