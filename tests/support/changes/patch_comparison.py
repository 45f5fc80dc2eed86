"""How many damaged diffs are applied right, wrong or not at all, and how `patch` does.

`python -m tests.support.changes.patch_comparison`; without GNU patch the columns of it stay empty.
"""

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from coterie.activities.changes.diff import parse_diff
from coterie.activities.changes.diff_header import DiffProblem
from coterie.activities.changes.hunk_application import patch
from tests.support.changes.damaged_diffs import DAMAGES, Damage, Damaged
from tests.support.changes.real_changes import RealChange, real_changes
from tests.support.changes.twin_diffs import TWINS


def applied(case: Damaged) -> str | None:
    """The file after the diff; None where the diff is refused."""
    try:
        return patch(case.file, parse_diff(case.diff, "f").hunks).text
    except DiffProblem:
        return None


def applied_by_patch(case: Damaged) -> str | None:
    """The same with `patch --fuzz=2`; None where it rejects a hunk."""
    with TemporaryDirectory() as name:
        file = Path(name) / "f"
        file.write_bytes(case.file.encode())
        command = ["patch", "--fuzz=2", "--batch", "--forward", "--silent", "--reject-file=-", "f"]
        done = subprocess.run(
            command, cwd=name, input=case.diff.encode(), capture_output=True, check=False
        )
        return file.read_bytes().decode() if done.returncode == 0 else None


def counted(
    damage: Damage, changes: list[RealChange], apply: Callable[[Damaged], str | None] = applied
) -> Counter[str]:
    """`right`, `wrong` and `refused`, over the changes that can be damaged so."""
    found: Counter[str] = Counter()
    for change in changes:
        case = damage(change, Random(change.name))  # the same each time
        if case is None:
            continue
        after = apply(case)
        if after is None:
            found["refused"] += 1
        else:
            found["right" if after == case.meant else "wrong"] += 1
    return found


def _columns(found: Counter[str]) -> str:
    return "".join(f"{found[what]:>9}" for what in ("right", "refused", "wrong"))


def main() -> None:
    """Print one line for each damage."""
    changes, reference = real_changes(), shutil.which("patch") is not None
    write = sys.stdout.write
    write(f"{'':36}{'right':>9}{'refused':>9}{'wrong':>9}   patch: right, refused, wrong\n")
    for name, damage in {**DAMAGES, **TWINS}.items():
        theirs = _columns(counted(damage, changes, applied_by_patch)) if reference else ""
        write(f"{name:36}{_columns(counted(damage, changes))}   {theirs}\n")


if __name__ == "__main__":
    main()
