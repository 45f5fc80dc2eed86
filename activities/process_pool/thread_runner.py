"""Runs work in a thread of this process.

A module of its own: a process of the pool needs no threads, and would import Temporal for them.
"""

from coterie.activities.process_pool.work import Given, Result, Work
from coterie.activities.threads.run_threads import FUNCTION_THREADS


class ThreadRunner:
    """Runs work in this process, which serves only one caller. A cancelled call runs to its end."""

    async def run(self, work: Work[Given, Result], given: Given, cpu: int | None = None) -> Result:
        """Run one call, and continue when it has ended."""
        return await FUNCTION_THREADS.finish(work.call, given)
