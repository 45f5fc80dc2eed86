"""Find test files: named files, those in folders, those of the project's config."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from coterie.documents.file_kinds import is_test
from coterie.failures import CommandError
from coterie.settings import Settings

_NEVER = (".venv", ".git", ".coterie", "node_modules", "__pycache__")


def find_tests(settings: Settings, targets: Sequence[str]) -> list[Path]:
    """List the files, each once, in the order of the targets and then by name.

    Raises:
        CommandError: A target does not exist, is not a test file, or contains none.
    """
    if targets:
        files = [file for target in targets for file in _of(settings.cwd / target, target)]
    else:
        files = [file for root in settings.config_roots for file in _below(root)]
    if not files:
        where = ", ".join(str(root) for root in settings.config_roots) or "config"
        raise CommandError(
            f"no test file in {where}; put one beside a team, such as "
            "review.test.yml beside review.yml, or name a file"
        )
    return list(dict.fromkeys(files))


def _of(path: Path, target: str) -> list[Path]:
    if path.is_dir():
        files = list(_below(path))
        if not files:
            raise CommandError(f"no test file in {target}; test files end in .test.yml")
        return files
    if not path.is_file():
        raise CommandError(
            f"{target} is not a regular file" if path.exists() else f"{target} does not exist"
        )
    if not is_test(path):
        raise CommandError(f"{target} is not a test file: test files end in .test.yml")
    return [path]


def _below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir() and path.name not in _NEVER and not path.is_symlink():
            yield from _below(path)
        elif path.is_file() and is_test(path):
            yield path
