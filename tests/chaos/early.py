"""Signals to runs that no worker has taken up yet: none is lost, and their order holds.

    python -m tests.chaos.early --runs 1000 --seed 7

It starts runs with a signal (signal-with-start) on an embedded server without a worker, sends each
up to 100 signals, begins a worker, and compares what every run received. It needs no key.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from temporalio.client import Client

from coterie.workflows.core.messages import TeamInput
from tests.chaos.ground import SAMPLE
from tests.support.project import project

MAX_SIGNALS = 100
AT_ONCE = 20

DOCUMENT = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas: {writer: {prompts: {user: hello}}}
orchestration:
  entry_team: listen
  teams:
    listen:
      tasks:
        - name: all
          type: loop
          iterate_on: "{{ context.expected }}"
          loop_variable: number
          body: [{name: one, type: wait, signal: word, deadline: 10m}]
      routing:
        rules:
          - condition: all_success
            next_team: null
            context_updates: { heard: "{{ tasks.all.data.results }}" }
"""


async def send(client: Client, queue: str, runs: int, chance: random.Random) -> dict[str, int]:
    """Start runs and send each its signals; `{run: how many}`."""
    sent = {f"early-{number:04}": chance.randint(1, MAX_SIGNALS) for number in range(runs)}
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(id: str, signals: int) -> None:
        async with turns:
            given = TeamInput(document=DOCUMENT, context={"expected": list(range(signals))})
            handle: Any = await client.start_workflow(
                "TeamWorkflow",
                given,
                id=id,
                task_queue=queue,
                start_signal="word",
                start_signal_args=[0],
            )
            for number in range(1, signals):
                await handle.signal("word", number)

    await asyncio.gather(*(one(id, signals) for id, signals in sent.items()))
    return sent


async def lost(client: Client, sent: Mapping[str, int]) -> list[str]:
    """What the runs did not receive, or received in another order."""
    wrong: list[str] = []
    for id, signals in sent.items():
        result: Any = await client.get_workflow_handle(id).result()
        if result["context"]["heard"] != list(range(signals)):
            wrong.append(f"{id}: heard {result['context']['heard']} of {signals}")
    return wrong


async def play(runs: int, seed: int) -> int:
    """The whole of it, in a temporary folder; the exit code."""
    with (
        tempfile.TemporaryDirectory(prefix="coterie-early-") as folder,
        project(Path(folder) / "project", sample=SAMPLE) as shop,
    ):
        assert shop.coterie("server").returncode == 0
        client = await shop.client()
        began = time.monotonic()
        sent = await send(client, "coterie", runs, random.Random(seed))
        text = f"{runs} runs, {sum(sent.values())} signals sent in {time.monotonic() - began:.0f} s"
        began = time.monotonic()
        shop.begin("worker")
        wrong = await lost(client, sent)
        sys.stdout.write(
            f"{text}, all runs ended {time.monotonic() - began:.0f} s after a worker "
            f"came; {len(wrong)} runs lost signals (seed {seed})\n"
        )
        sys.stdout.writelines(f"WRONG {line}\n" for line in wrong)
        return 1 if wrong else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.early", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    sys.exit(asyncio.run(play(arguments.runs, arguments.seed)))
