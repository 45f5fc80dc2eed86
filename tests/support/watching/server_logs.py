"""A plugin of pytest: a set-up that fails names the servers of its process, and their logs.

A fixture that waits for a server fails in the client; the server's log says why.
"""

from collections.abc import Generator, Iterator
from contextlib import suppress
from os import getpid
from pathlib import Path
from typing import cast

import pytest

_PROCESSES = Path("/proc")
"""Where there is none, as on macOS, no server is named."""
_SHOWN = 2000
"""Characters of a command, and of a log's end."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the servers to the report of a set-up that fails."""
    report = yield
    if call.when == "setup" and report.failed:
        factory = cast("pytest.TempPathFactory", vars(item.config)["_tmp_path_factory"])
        shown = "\n".join(_descriptions(str(factory.getbasetemp())))
        report.sections.append(("Servers and their logs", shown or "none runs"))
    return report


def _descriptions(temporary: str) -> Iterator[str]:
    """Describe each program that descends from this process, or works in its temporary folder."""
    programs = {int(entry.name): entry for entry in _PROCESSES.glob("[0-9]*")}
    parents = {number: _parent(entry) for number, entry in programs.items()}
    for number, entry in sorted(programs.items()):
        with suppress(OSError):  # it has ended meanwhile
            command = (entry / "cmdline").read_text(errors="replace").replace("\0", " ").strip()
            ours = getpid() in _ancestors(number, parents) or temporary in command
            if ours and command and number != getpid():
                yield f"{number}: {command[:_SHOWN]}\n{_log(entry)}"


def _parent(process: Path) -> int:
    with suppress(OSError):
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    return 0


def _ancestors(number: int, parents: dict[int, int]) -> Iterator[int]:
    while number := parents.get(number, 0):
        yield number


def _log(process: Path) -> str:
    """Return the file to which a program writes, and its end."""
    log = (process / "fd" / "1").readlink()
    end = log.read_text(errors="replace")[-_SHOWN:] if log.is_file() else ""
    return f"log: {log}\n{end}"
