"""Keep other processes of the same user from reading this one, which knows the keys."""

import ctypes
import sys

_PR_SET_DUMPABLE = 4


def keep_to_itself() -> bool:
    """Make this process non-dumpable, so that others of its user cannot read its memory.

    Linux only. Root can still read it, and child programs do not inherit the setting.

    Returns:
        Whether it worked.
    """
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    return library.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
