"""The whole of it: a project with a corpus, a recorded search engine, the siege, the reckoning."""

import random
from collections.abc import Callable
from pathlib import Path

from tests.chaos.ground import Ground
from tests.chaos.router_runs.router_plan import MESSAGES, RouterPlan
from tests.chaos.router_runs.router_reckoning import RouterReport, reckon_sessions
from tests.chaos.router_runs.router_siege import RouterSiege
from tests.support.project import project
from tests.support.servers.web_server import page, web_server

_CHAOS = Path(__file__).parents[1]
SAMPLE = _CHAOS / "router_project"
MODEL = _CHAOS / "noted_model"


async def play_router(folder: Path, plan: RouterPlan, tell: Callable[[str], None]) -> RouterReport:
    """Play it in a folder of its own; nothing is left running.

    Args:
        folder: to be made; what remains there tells what happened.
        plan: of one seed.
        tell: takes lines of progress.
    """
    kills = sum(map(len, plan.sessions.values()))
    tell(f"{len(plan.sessions)} sessions of {len(MESSAGES)} turns under fire, {kills} kills")
    recorded = SAMPLE / "mojeek.html"
    async with web_server({"*": page(recorded.read_bytes())}) as engine:
        environment = {"PYTHONPATH": str(MODEL), "RECORDED_ENGINE": f"{engine.url}/search"}
        with project(folder, environment, SAMPLE) as shop:
            indexed = shop.coterie("index", "corpus", seconds=600)
            assert indexed.returncode == 0, indexed.stderr
            tell(indexed.stdout.strip().splitlines()[-1])
            ground = Ground(shop, random.Random(), number=1)
            ground.open()
            siege = RouterSiege(ground, await shop.client(), plan, tell)
            await siege.lay()
            return await reckon_sessions(siege, recorded, len(engine.asked))
