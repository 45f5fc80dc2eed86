"""Reading text files of the project: whole, by lines, bounded, and never a secret."""

import hashlib
import os
from pathlib import Path

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import FailureType
from coterie.activities.workspace.function_base import Workspace
from tests.support.tool_functions import call, refusal

TEXT = "one\ntwo\r\nthrée\nfour"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/list.txt").write_bytes(TEXT.encode())
    (root / "empty.txt").write_text("")
    (root / "image.bin").write_bytes(b"\x89PNG\0\xff")
    (root / ".env").write_text("KEY=1\n")
    (root / "linked.txt").symlink_to(".env")
    (tmp_path / "outside.txt").write_text("private\n")
    (root / "out").symlink_to(tmp_path / "outside.txt")
    os.mkfifo(root / "pipe")
    return Workspace(root)


async def read(workspace: Workspace, **wanted: JsonValue) -> dict[str, JsonValue]:
    data = await call(workspace, "Files.read", {"path": "src/list.txt", **wanted})
    assert isinstance(data, dict)
    return data


async def test_a_file_is_read_whole_with_its_hash(workspace: Workspace) -> None:
    assert await read(workspace) == {
        "path": "src/list.txt",
        "text": TEXT,
        "start_line": 1,
        "end_line": 4,
        "total_lines": 4,
        "bytes": len(TEXT.encode()),
        "sha256": hashlib.sha256(TEXT.encode()).hexdigest(),
        "cut": False,
    }


@pytest.mark.parametrize(
    ("start", "end", "text", "last"),
    [(2, 3, "two\r\nthrée\n", 3), (4, 9, "four", 4), (1, 1, "one\n", 1)],
)
async def test_a_range_of_lines_is_read(
    workspace: Workspace, start: int, end: int, text: str, last: int
) -> None:
    found = await read(workspace, start_line=start, end_line=end)
    assert (found["text"], found["end_line"], found["total_lines"]) == (text, last, 4)


async def test_a_text_is_cut_at_a_line_end_and_continues_from_there(workspace: Workspace) -> None:
    first = await read(workspace, max_bytes=10)
    assert (first["text"], first["end_line"], first["cut"]) == ("one\ntwo\r\n", 2, True)
    rest = await read(workspace, start_line=3, max_bytes=100)
    assert (rest["text"], rest["cut"]) == ("thrée\nfour", False)


async def test_an_empty_file_has_no_lines(workspace: Workspace) -> None:
    found = await read(workspace, path="empty.txt")
    assert (found["text"], found["end_line"], found["total_lines"]) == ("", 0, 0)


@pytest.mark.parametrize(
    ("path", "kind", "why"),
    [
        ("src/lists.txt", FailureType.FUNCTION_FAILED, "did you mean 'list.txt'?"),
        ("src", FailureType.FUNCTION_FAILED, "'src' is a folder, not a file"),
        ("image.bin", FailureType.FUNCTION_FAILED, "is not UTF-8 text"),
        ("pipe", FailureType.FUNCTION_FAILED, "is not a regular file"),
        (".env", FailureType.FUNCTION_REFUSED, "may contain secrets"),
        ("linked.txt", FailureType.FUNCTION_REFUSED, "may contain secrets"),
        ("out", FailureType.FUNCTION_REFUSED, "leads outside the project by a symlink"),
        ("../outside.txt", FailureType.FUNCTION_REFUSED, "'..'"),
        ("/etc/passwd", FailureType.FUNCTION_REFUSED, "absolute"),
        (".git/config", FailureType.FUNCTION_REFUSED, ".git"),
        (".coterie/server.db", FailureType.FUNCTION_REFUSED, "belongs to the worker"),
    ],
)
async def test_reading_names_why_a_path_cannot_be_read(
    workspace: Workspace, path: str, kind: str, why: str
) -> None:
    error = await refusal(workspace, "Files.read", {"path": path})
    assert error.type == kind
    assert why in error.message


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"start_line": 5}, "has 4 lines, and start_line is 5"),
        ({"start_line": 3, "end_line": 2}, "end_line (2) is before start_line (3)"),
        ({"max_bytes": 3}, "line 1 of 'src/list.txt' has 4 bytes, more than max_bytes (3)"),
    ],
)
async def test_reading_refuses_ranges_without_lines(
    workspace: Workspace, wanted: dict[str, JsonValue], why: str
) -> None:
    error = await refusal(workspace, "Files.read", {"path": "src/list.txt", **wanted})
    assert why in error.message


async def test_a_file_over_the_limit_is_not_read(workspace: Workspace) -> None:
    with (workspace.root / "huge.txt").open("wb") as file:
        file.truncate(20_000_001)
    error = await refusal(workspace, "Files.read", {"path": "huge.txt"})
    assert "'huge.txt' has 20000001 bytes; at most 20000000 can be read" in error.message
