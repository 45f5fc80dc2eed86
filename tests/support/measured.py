"""What a piece of work takes: CPU, calls of functions, and memory at its peak.

Each in a run of its own: together they would measure each other.
"""

import sys
import tracemalloc
from collections.abc import Callable
from time import thread_time


def cpu_seconds(work: Callable[[], None], enough: float, tries: int = 3) -> float:
    """Return CPU seconds of this thread: the first below `enough`, or the least of a few tries.

    A busy machine and a collection of garbage can only add to a try.
    """
    least = enough
    for _ in range(tries):
        began = thread_time()
        work()
        least = min(least, thread_time() - began)
        if least < enough:
            break
    return least


def function_calls(work: Callable[[], None]) -> int:
    """Return the number of calls of functions, in Python and in C."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event.endswith("call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def peak_bytes(work: Callable[[], None]) -> int:
    """Return the most bytes in use at once, beyond those in use before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
