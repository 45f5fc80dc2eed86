"""No file keeps the marks of a merge."""

import subprocess

from tests.law.sources import ROOT


def test_no_tracked_file_has_a_conflict_marker() -> None:
    found = subprocess.run(
        ["git", "grep", "-nIE", "^(<{7}|>{7}) ", "--", "."],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout == ""
