"""The whole of it: a project with tools, its siege, its reckoning."""

import random
from collections.abc import Callable
from pathlib import Path

from coterie.workflows.core.requests import Pending
from tests.chaos.early_moves import reading_client
from tests.chaos.ground import Ground
from tests.chaos.people import People
from tests.chaos.tool_runs.planned_runs import CALLS, Plan
from tests.chaos.tool_runs.tool_reckoning import ToolReport, read_ledger, reckon
from tests.chaos.tool_runs.tool_siege import ToolSiege, ToolTerms
from tests.support.project import project

SAMPLE = Path(__file__).parents[1] / "tool_project"


async def play_tools(
    folder: Path, plan: Plan, terms: ToolTerms, tell: Callable[[str], None]
) -> ToolReport:
    """Play it in a folder of its own; nothing is left running.

    Args:
        folder: to be made; what remains there tells what happened.
        plan: of one seed.
        terms: how hard it is.
        tell: takes lines of progress.
    """
    tell(f"{len(plan.runs)} runs of {CALLS} calls of tools, {len(plan.strikes)} kills")
    with project(folder, sample=SAMPLE) as shop:

        def agree(_: str, request: Pending) -> bool:
            """What the ledger says of the call that the request names: `send r0001/07`."""
            return read_ledger(folder / "ledger.txt")[request.prompt] > 0

        ground = Ground(shop, random.Random(), number=terms.workers)
        ground.open()
        people = People(random.Random(plan.seed), agree)
        siege = ToolSiege(ground, people, await reading_client(shop), plan, terms, tell)
        await siege.lay()
        kills = [kill.target for kill in ground.kills]
        tell(
            f"{kills.count('worker')} kills of a worker, {kills.count('server')} of the server, "
            f"{kills.count('both')} of both, {kills.count('mcp')} of an MCP server; "
            f"{siege.seconds / 60:.1f} minutes"
        )
        return await reckon(siege)
