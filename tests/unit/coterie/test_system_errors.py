"""What the system refuses, as a full disk, is one sentence with the path, never a bug."""

import errno
import logging
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest

from coterie import cli
from coterie.activities.workspace.project_files import write_private
from coterie.cli import main
from coterie.failures import CommandError, ExitCode
from coterie.logs import PrivateLogFile
from coterie.runtime.task_board import TaskBoard
from coterie.settings import load, state_folder
from coterie.testing.simulation.stage import furnish
from tests.support.full_disk import NAMED, PAGE, fill, small_disk

FULL = "/dev/full"
REFUSED = [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.ENOTDIR, errno.EFBIG]

needs_full = pytest.mark.skipif(not Path(FULL).exists(), reason="there is no device that is full")


@pytest.mark.parametrize("number", REFUSED, ids=lambda one: errno.errorcode[one])
def test_a_command_ends_with_one_sentence_when_the_system_refuses_a_file(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused() -> None:
        raise OSError(number, os.strerror(number), "/some/file")

    monkeypatch.setattr("coterie.cli.load", refused)
    assert main(["runs"]) == ExitCode.CALL_WRONG
    output = capsys.readouterr().err
    assert output.startswith("coterie: /some/file: ")
    assert os.strerror(number) in output
    assert output.count("\n") == 1


def test_a_bug_is_logged_with_its_traceback_and_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def defect(*_: object) -> ExitCode:
        raise KeyError("nobody expected this")

    monkeypatch.setattr("coterie.commands.documents.limits.run", defect)
    monkeypatch.chdir(tmp_path)
    assert main(["limits", "team.yml"]) == ExitCode.BUG
    output = capsys.readouterr().err
    [log] = (tmp_path / ".coterie").glob("bug-*.log")
    assert output.startswith("coterie: a bug: KeyError. ")
    assert str(log) in output
    assert output.count("\n") == 1
    written = log.read_text()
    assert "Traceback" in written
    assert "coterie limits team.yml" in written


@needs_full
@pytest.mark.parametrize("words", [("--version",), ("schema",), ("limits", "development")])
def test_a_full_standard_output_is_named_without_a_traceback(words: tuple[str, ...]) -> None:
    with open(FULL, "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "coterie", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == ExitCode.OUTPUT_LOST, done.stderr
    assert "the disk is full (No space left on device)" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


@needs_full
@pytest.mark.parametrize(
    "words", [("schema", "-o", FULL), ("graph", "development", "--format", "svg", "-o", FULL)]
)
def test_a_file_that_cannot_be_written_whole_is_named(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == ExitCode.CALL_WRONG
    assert capsys.readouterr().err == f"coterie: could not write {FULL}: {NAMED}\n"


def test_a_file_of_ours_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """A limit of the process stands for the full disk: the same failure, in the same write."""
    file = tmp_path / "record.json"
    write_private(file, "before")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large") as error:
            write_private(file, "x" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert error.value.filename == str(file)
    assert error.value.errno == errno.EFBIG
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


def test_a_bug_is_reported_when_its_log_cannot_be_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load({}, tmp_path)
    (tmp_path / ".coterie").mkdir()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        assert cli.report_bug(KeyError("lost"), ["runs"], settings) == ExitCode.BUG
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    output = capsys.readouterr().err
    assert output.startswith("coterie: a bug: KeyError: 'lost'; could not write the details to ")
    assert "(File too large)" in output


@needs_full
def test_a_full_log_is_reported_once_and_without_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    handler = PrivateLogFile(FULL)
    logger = logging.Logger("test")
    logger.addHandler(handler)
    for _ in range(3):
        logger.warning("a line")
    with suppress(OSError):
        handler.close()
    assert capsys.readouterr().err == f"coterie: could not write {FULL}: {NAMED}\n"


@pytest.fixture
def disk(tmp_path: Path) -> Generator[Path]:
    """A small disk of its own."""
    with small_disk(tmp_path / "disk") as folder:
        yield folder


def test_a_failed_command_names_the_full_disk_of_the_embedded_server(
    disk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> ExitCode:
        raise CommandError("the Temporal server does not answer (shard status unknown)")

    monkeypatch.setattr("coterie.commands.runs.status.run", refused)
    (disk / ".coterie").mkdir()
    monkeypatch.chdir(disk)
    assert main(["status", "a"]) == ExitCode.CALL_WRONG
    assert "full" not in capsys.readouterr().err
    fill(disk)
    assert main(["status", "a"]) == ExitCode.CALL_WRONG
    named = f"the disk of {disk / '.coterie'} is full: free some space, then repeat the command"
    assert capsys.readouterr().err.splitlines()[1:] == [f"coterie: {named}"]


@pytest.mark.parametrize("words", [("schema",), ("graph", "development", "--format", "svg")])
def test_an_older_file_stays_when_the_new_one_does_not_fit(
    words: tuple[str, ...], disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = disk / "made"
    file.write_text("older")
    file.chmod(0o640)
    filler = fill(disk, PAGE)
    assert main([*words, "-o", str(file)]) == ExitCode.CALL_WRONG
    assert capsys.readouterr().err == f"coterie: could not write {file}: {NAMED}\n"
    assert file.read_text() == "older"
    assert {*disk.iterdir()} == {file, filler}
    filler.unlink()
    assert main([*words, "-o", str(file)]) == ExitCode.DONE
    assert len(file.read_text()) > PAGE
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_new_project_that_does_not_fit_leaves_no_file(
    disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filler = fill(disk, PAGE)
    project = disk / "project"
    assert main(["init", str(project)]) == ExitCode.CALL_WRONG
    assert capsys.readouterr().err == f"coterie: could not write to {project}: {NAMED}\n"
    assert [path for path in project.rglob("*") if path.is_file()] == []
    filler.unlink()
    assert main(["init", str(project)]) == ExitCode.DONE


def test_a_state_folder_that_takes_no_file_is_named(disk: Path) -> None:
    fill(disk)
    with pytest.raises(CommandError, match=rf"could not write .*{re.escape(NAMED)}"):
        state_folder(load({}, disk))
    assert list((disk / ".coterie").iterdir()) == []


def test_the_workspace_of_a_test_that_does_not_fit_is_named(disk: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "large.txt").write_text("x" * 5 * PAGE)
    fill(disk, PAGE)
    with pytest.raises(CommandError, match=re.escape(f"for a test: {NAMED}")):
        furnish(disk / "copied", source, {})
    with pytest.raises(CommandError, match=rf"could not write .*{re.escape(NAMED)}"):
        furnish(disk / "made", None, {"large.txt": "x" * 5 * PAGE})


@pytest.mark.skipif(sys.platform == "darwin", reason="the system cannot reserve room there")
def test_a_worker_whose_board_does_not_fit_refuses_to_start_and_leaves_no_file(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The board is shared memory: a write for which the disk has no room ends the process."""
    filler = fill(disk, 5 * PAGE)
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    with pytest.raises(OSError, match="No space left on device") as refused:
        TaskBoard()
    assert Path(str(refused.value.filename)).parent == disk
    assert [*disk.iterdir()] == [filler]
