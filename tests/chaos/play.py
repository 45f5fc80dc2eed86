"""The whole of it: a project, its siege, its reckoning."""

import random
import time
from collections.abc import Callable
from pathlib import Path

from coterie.workflows.core.requests import Pending
from tests.chaos.book import read_releases
from tests.chaos.early_moves import reading_client
from tests.chaos.ground import SAMPLE, Ground
from tests.chaos.people import People
from tests.chaos.reckoning import Report, reckon
from tests.chaos.siege import Siege, Terms
from tests.support.project import project


async def play(folder: Path, seed: int, terms: Terms, tell: Callable[[str], None]) -> Report:
    """Play it in a folder of its own; nothing is left running.

    Args:
        folder: to be made; what remains there tells what happened.
        seed: of what is killed when and of what people do; the machine has its own chance.
        terms: how hard it is.
        tell: takes lines of progress.
    """
    chance = random.Random(seed)
    with project(folder, sample=SAMPLE) as shop:
        ground = Ground(shop, chance, terms.freezes)
        ground.open()
        ledger = folder / "ledger.txt"

        def agree(run: str, request: Pending) -> bool:
            """Yes to whatever is to be published; about a lost release, what the ledger says."""
            publishes = request.id.startswith("publish/consent")
            return publishes or f"{run}/release" in read_releases(ledger)

        people = People(chance, agree)
        siege = Siege(ground, people, await reading_client(shop), terms, tell)
        await siege.lay()
        kills = [kill.target for kill in ground.kills]
        tell(
            f"{kills.count('worker')} kills of a worker, {kills.count('server')} of the server, "
            f"{kills.count('both')} of both; a worker was frozen "
            f"{kills.count('frozen worker') // 2} times, the server "
            f"{kills.count('frozen server') // 2} times; "
            f"{siege.seconds / 60:.1f} minutes"
        )
        tell(
            f"{people.taken.total()} decisions taken, {people.refused} refused as duplicate or "
            f"late, {people.unanswered} times nobody answered"
        )
        began = time.monotonic()
        report = await reckon(siege)
        tell(f"read all histories in {time.monotonic() - began:.0f} s")
        return report
