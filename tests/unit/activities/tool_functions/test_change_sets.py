"""A set of changes is known by its digest, in every attempt and by every version of the worker."""

from pathlib import Path

import pytest

from coterie.activities.changes.change import Change
from coterie.activities.changes.file_edits import plan_edits
from coterie.activities.changes.journal import AppliedChange, backups, begin
from coterie.activities.tool_functions.asset_manager import apply_set
from coterie.activities.workspace.function_base import Workspace

DIGEST = "545fb89719309f1b44321ccaf0ce972f47bdd3af51f5642b87b7b7c83b46c1ef"


def test_a_set_of_changes_has_the_same_digest_in_a_later_version(tmp_path: Path) -> None:
    """An interrupted set is completed only if the journal has the digest of the same set."""
    changes = [
        Change(file_path="a.txt", type="create", content="é"),
        Change(file_path="b.txt", type="create", content="b"),
    ]
    assert apply_set(Workspace(tmp_path), changes, "call").digest == DIGEST
    assert apply_set(Workspace(tmp_path), changes, "again").digest == DIGEST


BEFORE = "a\nX\nY\nb\nc\nd\n"
AFTER = "a\nX\nY\nb\nc\nnew\n"
DIFF = """--- a/a.txt
+++ b/a.txt
@@ -1,2 +1,4 @@
 a
+X
+Y
 b
@@ -3,2 +5,2 @@
 c
-d
+new
"""
CHANGES = [
    Change(file_path="a.txt", type="modify", diff=DIFF),
    Change(file_path="b.txt", type="create", content="b\nb\n"),
    Change(file_path="c.txt", type="create", content="same\n"),
    Change(file_path="d.txt", type="delete"),
]


def project(root: Path) -> Workspace:
    root.mkdir(exist_ok=True)
    for name, text in {"a.txt": BEFORE, "c.txt": "same\n", "d.txt": "1\n2\n3\n"}.items():
        (root / name).write_text(text)
    return Workspace(root)


def numbers(applied: list[AppliedChange]) -> list[tuple[str, int, int, int, int]]:
    return [
        (one.status, one.added, one.removed, one.hunks_applied, one.hunks_already_present)
        for one in applied
    ]


def test_each_change_of_a_set_is_reported_and_a_repeated_set_changes_nothing(
    tmp_path: Path,
) -> None:
    workspace = project(tmp_path)
    first = apply_set(workspace, CHANGES, "call")
    assert numbers(first.applied) == [
        ("applied", 1, 1, 1, 1),
        ("applied", 2, 0, 0, 0),
        ("already_applied", 0, 0, 0, 0),
        ("applied", 0, 3, 0, 0),
    ]
    assert (tmp_path / "a.txt").read_text() == AFTER
    assert first.backup is not None
    assert (tmp_path / first.backup / "old" / "d.txt").read_text() == "1\n2\n3\n"
    again = apply_set(workspace, CHANGES, "again")
    assert numbers(again.applied) == [
        ("already_applied", 0, 0, 0, 2),
        ("already_applied", 0, 0, 0, 0),
        ("already_applied", 0, 0, 0, 0),
        ("already_applied", 0, 0, 0, 0),
    ]
    assert (again.backup, again.digest) == (first.backup, first.digest)
    assert len(backups(workspace)) == 1


def test_changes_that_are_there_already_need_no_backup(tmp_path: Path) -> None:
    workspace = project(tmp_path)
    result = apply_set(workspace, [CHANGES[2]], "call")
    assert (numbers(result.applied), result.backup) == ([("already_applied", 0, 0, 0, 0)], None)
    assert backups(workspace) == []


def test_a_backup_outside_the_project_is_named_without_its_folder(tmp_path: Path) -> None:
    root = project(tmp_path / "project").root
    workspace = Workspace(root, state_dir=tmp_path / "state")
    result = apply_set(workspace, CHANGES, "call")
    [backup] = backups(workspace)
    assert result.backup == backup.directory.name


@pytest.mark.parametrize("same", [True, False])
def test_an_interrupted_set_is_completed_by_itself_and_undone_by_any_other(
    same: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    workspace = project(tmp_path)
    digest = apply_set(project(tmp_path / "twin"), CHANGES, "call").digest
    lost = begin(workspace, plan_edits(workspace, CHANGES[:2]), (), digest, "lost")
    (tmp_path / "b.txt").write_text("b\nb\n")
    result = apply_set(workspace, CHANGES if same else [CHANGES[3]], "call")
    assert (tmp_path / "a.txt").read_text() == (AFTER if same else BEFORE)
    assert (tmp_path / "b.txt").exists() is same
    assert (tmp_path / "d.txt").exists() is same
    assert (result.backup == lost.directory.relative_to(tmp_path).as_posix()) is same
    assert [record.args for record in caplog.records] == ([] if same else [("lost",)])
