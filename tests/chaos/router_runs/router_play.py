"""The whole of it: a project with a corpus, a stand-in search engine, the siege, the reckoning."""

import importlib.metadata
import random
from collections.abc import Callable
from pathlib import Path

from tests.chaos.early_moves import reading_client
from tests.chaos.ground import Ground
from tests.chaos.router_runs.router_plan import MESSAGES, RouterPlan
from tests.chaos.router_runs.router_reckoning import RouterReport, reckon_sessions
from tests.chaos.router_runs.router_siege import RouterSiege
from tests.support.project import project
from tests.support.servers.search_pages import Hit, search_page
from tests.support.servers.web_server import page, web_server

_CHAOS = Path(__file__).parents[1]
SAMPLE = _CHAOS / "router_project"
MODEL = _CHAOS / "noted_model"
DESCRIBED = ("ddgs", "pathspec", "rich", "trafilatura")
"""Installed packages whose descriptions join the corpus: 50,000 characters about something else."""
HITS = (
    Hit(
        "Surge warnings from seven levels",
        "https://example.org/papers/2403-seven-levels",
        "A network that answers with seven levels warns an hour earlier. March <b>2024</b>.",
    ),
    Hit(
        "Leaving whole storms out",
        "https://example.org/papers/2410-whole-storms",
        "Tests on single hours flatter a <b>surge</b> model by a third. October <b>2024</b>.",
    ),
    Hit(
        "Tides and surges that meet in shallow bays",
        "https://example.org/papers/2406-shallow-bays",
        "High water and <b>storm surge</b> do not add up. June <b>2024</b>.",
    ),
)
"""What the stand-in search engine answers, whatever it is asked."""


async def play_router(folder: Path, plan: RouterPlan, tell: Callable[[str], None]) -> RouterReport:
    """Play it in a folder of its own; nothing is left running.

    Args:
        folder: to be made; what remains there tells what happened.
        plan: of one seed.
        tell: takes lines of progress.
    """
    kills = sum(map(len, plan.sessions.values()))
    tell(f"{len(plan.sessions)} sessions of {len(MESSAGES)} turns under fire, {kills} kills")
    async with web_server({"*": page(search_page(HITS).encode())}) as engine:
        environment = {"PYTHONPATH": str(MODEL), "RECORDED_ENGINE": f"{engine.url}/search"}
        with project(folder, environment, SAMPLE) as shop:
            add_descriptions(folder / "corpus")
            indexed = shop.coterie("index", "corpus", seconds=600)
            assert indexed.returncode == 0, indexed.stderr
            tell(indexed.stdout.strip().splitlines()[-1])
            ground = Ground(shop, random.Random(), number=1)
            ground.open()
            siege = RouterSiege(ground, await reading_client(shop), plan, tell)
            await siege.lay()
            pages = frozenset(hit.url for hit in HITS)
            return await reckon_sessions(siege, pages, len(engine.asked))


def add_descriptions(corpus: Path) -> None:
    """Write the descriptions of some installed packages into a folder of texts."""
    for name in DESCRIBED:
        metadata = importlib.metadata.distribution(name).read_text("METADATA") or ""
        (corpus / f"{name}.md").write_text(metadata.partition("\n\n")[2])
