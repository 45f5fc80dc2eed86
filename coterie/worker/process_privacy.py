"""Keep other processes of the same user from looking into this one, which knows the keys."""

import ctypes
import sys

_PR_SET_DUMPABLE = 4


def keep_to_itself() -> bool:
    """Make this process non-dumpable, so that others of its user cannot look into it.

    Linux only. Not to root, and not inherited by programs that it starts.

    Returns:
        Whether it is so.
    """
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    return library.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0
