"""Editing a file: one unique text, once for each call, never over a newer file, never protected."""

import hashlib
from pathlib import Path

import pytest
from pydantic import JsonValue

from coterie.activities.contracts import FailureType
from coterie.activities.workspace.function_base import Workspace
from tests.support.tool_functions import call, refusal


async def edit(
    workspace: Workspace, old: str, new: str, key: str = "run/a#1/b", known: str | None = None
) -> dict[str, JsonValue]:
    given: JsonValue = {"path": "a.txt", "old": old, "new": new, "if_sha256": known}
    data = await call(workspace, "Files.edit", given, key=key)
    assert isinstance(data, dict)
    return data


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


async def test_the_one_occurrence_is_replaced_with_a_backup(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\n\xc3\xa9")
    done = await edit(Workspace(tmp_path), old="two\r\n", new="", known=digest("one\r\ntwo\r\né"))
    assert (done["status"], done["bytes"], done["sha256"]) == ("replaced", 7, digest("one\r\né"))
    assert (tmp_path / "a.txt").read_bytes() == "one\r\né".encode()
    assert (tmp_path / str(done["backup"]) / "old/a.txt").read_bytes() == b"one\r\ntwo\r\n\xc3\xa9"


async def test_an_attempt_that_repeats_a_call_edits_nothing_twice(tmp_path: Path) -> None:
    workspace, file = Workspace(tmp_path), tmp_path / "a.txt"
    file.write_text("x = 1\n")
    more = ("x = 1\n", "x = 1\ny = 2\n")
    await edit(workspace, *more)
    again = await edit(workspace, *more)
    assert (again["status"], again["backup"]) == ("unchanged", None)
    await edit(workspace, key="run/other", old="y = 2", new="y = 3")
    await edit(workspace, key="run/third", old="y = 3", new="y = 2\nz = 4")
    assert (await edit(workspace, *more))["status"] == "unchanged"
    assert file.read_text() == "x = 1\ny = 2\nz = 4\n"
    file.write_text("x = 1\n")  # a person took it back
    assert (await edit(workspace, *more))["status"] == "replaced"
    assert file.read_text() == "x = 1\ny = 2\n"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"old": "zero"}, "`old` does not occur in it (0 times)"),
        ({"old": "a\nb"}, r"lines of this file end with \r\n"),
        ({"old": "b"}, "`old` occurs 2 times, on lines 2, 3;"),
        ({"old": "b", "if_sha256": "0" * 64}, "now; read it again"),
        ({"old": "b", "if_sha256": "absent"}, "if_sha256"),
        ({"old": "b", "new": "b"}, "`new` is equal to `old`"),
        ({"old": ""}, "old"),
        ({"old": "b", "path": "none.txt"}, "no file exists at 'none.txt'"),
        ({"old": "b", "path": "binary"}, "is not UTF-8 text"),
        ({"old": "b", "path": "."}, "folder"),
        ({"old": "b", "path": "large"}, "at most 4000000 can be read"),
    ],
)
async def test_what_does_not_fit_is_refused_with_its_reason(
    tmp_path: Path, given: dict[str, JsonValue], message: str
) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\r\nb\r\nb\r\n")
    (tmp_path / "binary").write_bytes(b"b\0")
    (tmp_path / "large").write_bytes(b"b" + b"x" * 4_000_000)
    error = await refusal(Workspace(tmp_path), "Files.edit", {"path": "a.txt", "new": "c", **given})
    assert error.non_retryable
    assert message in error.message
    assert (tmp_path / "a.txt").read_bytes() == b"a\r\nb\r\nb\r\n"
    assert (tmp_path / "binary").read_bytes() == b"b\0"


@pytest.mark.parametrize(
    "path", ["../up.txt", ".git/hooks/pre-commit", "coterie.yml", ".env", "sub/.env", "id_rsa"]
)
async def test_protected_places_are_never_edited(tmp_path: Path, path: str) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text("b")
    error = await refusal(Workspace(root), "Files.edit", {"path": path, "old": "b", "new": "c"})
    assert error.type == FailureType.FUNCTION_REFUSED
    assert path.rpartition("/")[2] in error.message
    assert (root / path).read_text() == "b"
