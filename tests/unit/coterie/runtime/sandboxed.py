"""Two workflows for a sandbox."""

import random

from temporalio import workflow


@workflow.defn
class Pure:
    """Keeps to what a workflow may do."""

    @workflow.run
    async def run(self) -> None:
        """Do nothing."""


@workflow.defn
class Impure:
    """Asks for chance, which no replay could repeat."""

    @workflow.run
    async def run(self) -> float:
        """Return a number."""
        return random.random()
