"""Patches: changes of the interpreter that only runs begun after them may see (decision 0008).

A worker takes over runs that older code began, and replays their histories: where it would now
make another call, the run is stuck. Such a change asks `scope.patched(Patch.NAME)` and keeps the
old way beside the new one. docs/operating.md shows one whole.
"""

from enum import StrEnum


class Patch(StrEnum):
    """Every change that is behind a patch. There is none yet: no version was released.

    A member's value lies in histories for ever. Its comment says since which version, why, and
    when the old way may go: when no run that began before is open or kept any longer.
    """
