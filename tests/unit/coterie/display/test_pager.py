"""A text that is longer than the terminal goes to the person's pager, whole and escaped."""

import io
import json
import os
import pty
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ

import pytest

from coterie.display.pager import fits, pager_of, show_note, show_result
from coterie.settings import Settings

LONG = "\n".join(f"line {number}" for number in range(50)) + "\nevil \x1b]0;x\x07 end"
SHOWN = r"evil \u001b]0;x\u0007 end"


@pytest.mark.parametrize(
    ("environment", "command"),
    [
        ({"TERM": "xterm"}, ("less",)),
        ({"TERM": "dumb"}, None),
        ({}, None),
        ({"TERM": "xterm", "PAGER": ""}, None),
        ({"TERM": "xterm", "PAGER": "cat"}, None),
        ({"TERM": "xterm", "PAGER": "'no end"}, None),
        ({"TERM": "dumb", "PAGER": "more"}, ("more",)),
        ({"TERM": "xterm", "PAGER": "less -R 'a b'"}, ("less", "-R", "a b")),
    ],
)
def test_the_pager_is_the_one_that_the_person_named(
    environment: Mapping[str, str], command: tuple[str, ...] | None
) -> None:
    assert pager_of(environment) == command


@pytest.mark.parametrize(
    ("text", "fit"),
    [("a\nb", True), ("a\nb\nc", False), ("a" * 10, True), ("a" * 21, False), ("日" * 11, False)],
)
def test_a_wrapped_line_takes_the_rows_that_it_has(text: str, fit: bool) -> None:
    assert fits(text, 10, 3) is fit


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch, rows: int, *, output: bool) -> Generator[int]:
    """A terminal of 80 columns as the standard streams; the output may go elsewhere."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, pack("HHHH", rows, 80, 0, 0))
    with os.fdopen(theirs, "r+b", buffering=0) as raw:
        stream = io.TextIOWrapper(raw, write_through=True)
        monkeypatch.setattr(sys, "stdin", stream)
        if output:
            monkeypatch.setattr(sys, "stdout", stream)
            monkeypatch.setattr(sys, "stderr", stream)
        yield ours
        stream.detach()
    os.close(ours)


def printed_on(screen: int) -> str:
    """Read what is on a terminal up to the end of the text."""
    printed = ""
    while not printed.endswith(" end\r\n"):
        printed += os.read(screen, 9000).decode()
    return printed


def _pager(folder: Path, code: int = 0) -> Settings:
    """A pager that keeps what it was given."""
    seen = str(folder / "seen")
    program = f"import sys; open({seen!r}, 'w').write(sys.stdin.read()); sys.exit({code})"
    file = folder / "pager.py"
    file.write_text(program)
    return _with_pager(folder, f"{sys.executable} {file}", os.environ["PATH"])


def test_a_pager_knows_the_terminal_and_no_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "pager.py"
    file.write_text(
        "import json, os, sys; sys.stdin.read();"
        f"open({str(tmp_path / 'seen')!r}, 'w').write(json.dumps(dict(os.environ)))"
    )
    given = {
        "PAGER": f"{sys.executable} {file}",
        "PATH": os.environ["PATH"],
        "TERM": "xterm",
        "LESSCHARSET": "utf-8",
    }
    secrets = {"OPENAI_API_KEY": "sk-1", "COTERIE_API_KEY": "sk-2", "PGPASSWORD": "p"}
    settings = Settings(cwd=tmp_path, project=tmp_path, environment={**given, **secrets})
    with terminal(monkeypatch, 24, output=True):
        show_result(LONG, settings)
    seen = json.loads((tmp_path / "seen").read_text())
    assert seen.items() >= given.items()
    assert not seen.keys() & secrets.keys()


def _with_pager(folder: Path, pager: str, path: str = "") -> Settings:
    return Settings(cwd=folder, project=folder, environment={"PAGER": pager, "PATH": path})


@pytest.mark.parametrize("show", [show_result, show_note])
def test_a_long_text_is_paged_whole_without_control_characters(
    show: Callable[[str, Settings], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    with terminal(monkeypatch, 24, output=True):
        show(LONG, _pager(tmp_path))
    seen = (tmp_path / "seen").read_text()
    assert seen.splitlines()[:50] == LONG.splitlines()[:50]
    assert seen.splitlines()[-1] == SHOWN
    assert "\x1b" not in seen


@pytest.mark.parametrize(
    ("rows", "output", "code"),
    [(24, False, 0), (200, True, 0), (24, True, 3)],
    ids=["no terminal", "a high terminal", "a pager that fails"],
)
def test_a_text_that_no_pager_has_shown_is_printed(
    rows: int,
    output: bool,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    with terminal(monkeypatch, rows, output=output) as screen:
        show_result(LONG, _pager(tmp_path, code))
        printed = printed_on(screen) if output else capsys.readouterr().out
    assert SHOWN in printed
    assert printed.count("line 49") == 1
    assert (tmp_path / "seen").exists() is (code != 0)


def test_a_pager_that_does_not_exist_hides_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with terminal(monkeypatch, 24, output=True) as screen:
        show_result(LONG, _with_pager(tmp_path, str(tmp_path / "missing")))
        assert SHOWN in printed_on(screen)


@pytest.mark.parametrize("outside", [False, True])
def test_a_pager_of_the_project_is_never_started(
    outside: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    project, system = tmp_path / "project", tmp_path / "system"
    for folder in (project, system):
        folder.mkdir()
        (folder / "less").write_text(f"#!/bin/sh\nread line\n: > {folder}/started\n")
        (folder / "less").chmod(0o755)
    path = os.pathsep.join((str(project), ".", str(system) if outside else "/missing"))
    with terminal(monkeypatch, 24, output=True) as screen:
        show_result(LONG, _with_pager(project, "less", path))
        if not outside:
            assert SHOWN in printed_on(screen)
    assert not (project / "started").exists()
    assert (system / "started").exists() is outside
