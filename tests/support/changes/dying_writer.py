"""Apply a set of changes again and again, and die at the next step to the disk each time.

Usage: python -m tests.support.changes.dying_writer PROJECT COPIES CHANGES_JSON

`COPIES/<n>` is the project after the process died right before its n-th step. Prints how many
copies there are.
"""

import os
import shutil
import sys
from pathlib import Path

from pydantic import TypeAdapter

from coterie.activities.changes.change import Change
from coterie.activities.tool_functions.asset_manager import apply_set
from coterie.activities.workspace.function_base import Workspace

STEPS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod"}
DIED = 9


def die_before(step: int) -> None:
    """End this process at its next so many steps to the disk; reading is none."""
    left = step

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event not in STEPS or (event == "open" and arguments[1] in ("r", "rb")):
            return
        left -= 1
        if left == 0:
            os._exit(DIED)

    sys.addaudithook(hook)


def main() -> None:
    project, copies = Path(sys.argv[1]), Path(sys.argv[2])
    changes = TypeAdapter(list[Change]).validate_json(sys.argv[3])
    step = 0
    while True:
        step += 1
        root = copies / str(step)
        shutil.copytree(project, root)
        child = os.fork()
        if child == 0:
            die_before(step)
            apply_set(Workspace(root), changes, key="the call")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        if code == 0:
            print(step - 1)  # noqa: T201  # the answer of this script
            return
        if code != DIED:
            raise SystemExit(f"step {step} ended with {code}")


if __name__ == "__main__":
    main()
