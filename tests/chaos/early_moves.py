"""Runs that have to continue as new early, and in every workflow task of a simulated server."""

import os
import random
import stat
from collections.abc import Callable
from pathlib import Path
from shlex import quote

from temporalio.client import Client

from coterie.storage.large_values import directory_storage
from tests.support.engine import plan_of
from tests.support.project import BIN, Project
from tests.support.simulation.suggested_plans import scenarios
from tests.support.simulation.suggested_runs import differences, lived, suggestions

LIMITS = (60, 100)
"""Events after which servers suggest to continue as new; the chaos reaches them often."""


def early(chance: random.Random) -> int:
    """Return after how many events the servers of a play suggest it."""
    return chance.choice(LIMITS)


def suggest_after(events: int, folder: Path) -> None:
    """Let the embedded servers of this process's children suggest it after so many events."""
    folder.mkdir()
    program = folder / "temporal"
    program.write_text(
        f'#!/bin/sh\nexec {quote(str(BIN / "temporal"))} "$@" --dynamic-config-value '
        f"limit.historyCount.suggestContinueAsNew={events}\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"


async def reading_client(shop: Project) -> Client:
    """Return a client that reads what the runs of a project keep in its storage."""
    await shop.client()  # the server answers
    storage = directory_storage(shop.folder / ".coterie" / "blobs", private=True)
    return await Client.connect(shop.address, data_converter=storage.converter)


def move_everywhere(tell: Callable[[str], None]) -> list[str]:
    """Move the run of every plan in each of its workflow tasks; return what that changed."""
    wrong: list[str] = []
    number = 0
    for scenario in scenarios():
        plan = plan_of(scenario.text)
        alone = lived(plan, scenario.messages)
        for where, suggests in suggestions(sum(alone.tasks)):
            number += 1
            moved = lived(plan, scenario.messages, suggests)
            wrong += [
                f"{scenario.name}, suggested {where}: {one}" for one in differences(alone, moved)
            ]
    tell(f"{number} runs, each moved elsewhere")
    return wrong
