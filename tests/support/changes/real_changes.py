"""Real changes: files of this project before and after one of its commits.

They lie compressed in `real_changes.json.xz`, so that a copy without history has them too.
`python -m tests.support.changes.real_changes` takes them from the history anew.
"""

import json
import lzma
import subprocess
from typing import NamedTuple

from tests.support.places import DATA

FILE = DATA / "real_changes.json.xz"
COUNT = 300
LONGEST = 9_000
"""Characters of a file before its change."""

_SUFFIXES = (".py", ".md", ".yml", ".toml")


class RealChange(NamedTuple):
    """A file before and after a commit; no `FILE` ends without a newline."""

    name: str
    """`commit:path`."""
    before: str
    after: str


def real_changes() -> list[RealChange]:
    """All of them, in the order of the history."""
    return [RealChange(*one) for one in json.loads(lzma.decompress(FILE.read_bytes()))]


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def _from_history() -> list[RealChange]:
    found: list[RealChange] = []
    for commit in _git("log", "--no-merges", "--reverse", "--format=%h", "HEAD").split():
        listed = _git("diff-tree", "-r", "--no-commit-id", "--name-only", "--diff-filter=M", commit)
        for path in listed.splitlines():
            if not path.endswith(_SUFFIXES):
                continue
            before, after = _git("show", f"{commit}^:{path}"), _git("show", f"{commit}:{path}")
            # A file that is written anew is no change that anybody gives as a diff.
            kept = len(set(before.splitlines()) & set(after.splitlines()))
            if len(before) <= LONGEST and kept > len(before.splitlines()) // 2:
                found.append(RealChange(f"{commit}:{path}", before, after))
    return [found[at * len(found) // COUNT] for at in range(COUNT)]


if __name__ == "__main__":
    FILE.write_bytes(lzma.compress(json.dumps(_from_history()).encode(), preset=9))
