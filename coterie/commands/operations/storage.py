"""`coterie storage`: show where large values are kept, and delete old ones."""

import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

from coterie.activities.storage.blobs import DirectoryBlobs
from coterie.failures import CommandError, ExitCode
from coterie.settings import Settings
from coterie.storage.large_values import storage_of
from coterie.terminal import say

_DAY = 86_400


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--clean",
        metavar="DAYS",
        type=int,
        help="delete values not written for DAYS days; choose more days than the longest run and "
        "the retention of its history together",
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Show the storage; delete old values when asked to."""
    storage = storage_of(settings)
    if not isinstance(storage.blobs, DirectoryBlobs):
        if args.clean is not None:
            raise CommandError(
                f"the storage is {storage.location}, which this command does not clean; use the "
                "bucket's lifecycle rules"
            )
        say(f"storage {storage.location}")
        return ExitCode.DONE
    if args.clean is not None:
        if args.clean < 1:
            raise CommandError("--clean takes a number of days of at least 1")
        count, size = _delete_values(storage.blobs.folder, time.time() - args.clean * _DAY)
        say(f"deleted {count} values, {_megabytes(size)}")
    files = _files(storage.blobs.folder)
    say(f"storage {storage.location}: {len(files)} values, {_megabytes(sum(files.values()))}")
    return ExitCode.DONE


def _files(folder: Path) -> dict[Path, int]:
    return {file: file.stat().st_size for file in folder.glob("??/*") if file.is_file()}


def _delete_values(folder: Path, before: float) -> tuple[int, int]:
    old = {file: size for file, size in _files(folder).items() if file.stat().st_mtime < before}
    for file in old:
        file.unlink(missing_ok=True)
    return len(old), sum(old.values())


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"
